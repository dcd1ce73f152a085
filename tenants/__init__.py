"""Tenants: the customers of the product, who works for them, and what each person may do."""
