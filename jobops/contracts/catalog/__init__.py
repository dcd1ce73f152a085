"""The execution design of the running code: what each job type promises, what holds for all, and what is still open.

Pure: ``making`` makes a ``design.Catalog`` of the registered job types and of what the runtime tells (``facts``). It is
judged by ``lines`` and written as a document by ``text``, ``markdown`` and ``document``.
"""
