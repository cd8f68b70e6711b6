"""Documents: one builder per verb, from a result to what every renderer draws."""
