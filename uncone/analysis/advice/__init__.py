"""Advice: what is known of a repair before anyone has labeled a pair."""
