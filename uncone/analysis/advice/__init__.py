"""Advice without labels: rules, each with the record that it has on measured cases."""
