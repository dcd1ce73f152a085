"""One file per page. A view gets its object through ``tenants.access``, validates, calls one service or selector,
renders."""
