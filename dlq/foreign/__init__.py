"""Failed jobs of plain RQ and django-rq installations: taken over as letters, and replayed in their own queues.

What a source holds is read as bytes and never unpickled.
"""
