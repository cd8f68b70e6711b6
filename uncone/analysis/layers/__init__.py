"""Layer studies: the findings of every layer of a model, and the story they tell."""
