"""`similarity`: the texts of a table compared with each other."""
