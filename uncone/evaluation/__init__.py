"""How well vectors do on tasks, and how sure that is: similarity, classes, retrieval, words; intervals."""
