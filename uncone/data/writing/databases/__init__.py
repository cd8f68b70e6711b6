"""Writers of vectors into databases: a new table or collection, with the columns beside the vectors."""
