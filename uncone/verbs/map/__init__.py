"""`map`: vectors as points of a picture."""
