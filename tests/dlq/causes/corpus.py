"""Messages of real libraries and real jobs, each cause as several deaths tell it."""

from __future__ import annotations

_POOL = "HTTPSConnectionPool(host='{}', port={}): Max retries exceeded with url: {} (Caused by "
_SOCKET = "<urllib3.connection.HTTPSConnection object at 0x{}>"
_REFUSED = (
    f"{_POOL}NewConnectionError('{_SOCKET}: Failed to establish a new connection: [Errno 111] Connection refused'))"
)
_UNKNOWN = f"{_POOL}NewConnectionError('{_SOCKET}: Failed to establish a new connection: [Errno -2] Name not known'))"
_TIMED_OUT = f"{_POOL}ConnectTimeoutError({_SOCKET}, 'Connection to hooks timed out. (connect timeout=5)'))"

CAUSES: list[list[str]] = [
    ["invoice 42 has no customer", "invoice 99017 has no customer"],
    ["invoice 42 has no currency", "invoice 7 has no currency"],
    ["Invoice INV-2024-00042 not found", "Invoice INV-2025-10001 not found"],
    ["Payment provider answered 503 Service Unavailable"],
    ["Payment provider answered 401 Unauthorized"],
    ["HTTP 502", "HTTP 502"],
    ["HTTP 429"],
    [
        "503 Server Error: Service Unavailable for url: https://api.pay.example/v1/charges/ch_3Nx81?expand=1",
        "503 Server Error: Service Unavailable for url: https://api.pay.example/v1/charges/ch_9Za77",
    ],
    ["503 Server Error: Service Unavailable for url: https://api.mail.example/v3/send/8812"],
    ["404 Client Error: Not Found for url: https://api.pay.example/v1/charges/ch_3Nx81?expand=1"],
    [
        _REFUSED.format("hooks.acme.example", 443, "/in/91", "7f1a2b3c"),
        _REFUSED.format("hooks.globex.example", 8443, "/x/y", "7fffabcd"),
    ],
    [_UNKNOWN.format("hooks.acme.example", 443, "/in/91", "7f1a2b3c")],
    [_TIMED_OUT.format("hooks.acme.example", 443, "/in/91", "7f1a2b3c")],
    ["[Errno 2] No such file or directory: '/srv/data/acme/a.csv'", "[Errno 2] No such file or directory: '/tmp/9x'"],
    ["[Errno 28] No space left on device: '/srv/data/acme/a.csv'"],
    ["[Errno 13] Permission denied: '/srv/data/acme/a.csv'"],
    [
        'duplicate key value violates unique constraint "invoice_number_key"\nDETAIL:  Key (number)=(42) is there.',
        'duplicate key value violates unique constraint "invoice_number_key"\nDETAIL:  Key (number)=(43) is there.',
    ],
    ['duplicate key value violates unique constraint "customer_mail_key"\nDETAIL:  Key (mail)=(x) already exists.'],
    ["UNIQUE constraint failed: shop_invoice.number"],
    ["UNIQUE constraint failed: shop_customer.mail"],
    ["NOT NULL constraint failed: shop_invoice.total"],
    ['column "total" does not exist\nLINE 1: select total'],
    ['relation "shop_invoice" does not exist\nLINE 1: select 1'],
    ["'NoneType' object has no attribute 'total'"],
    ["'NoneType' object has no attribute 'customer'"],
    ["'Invoice' object has no attribute 'total'"],
    ["send() missing 1 required positional argument: 'invoice_id'"],
    ["send() missing 1 required positional argument: 'tenant'"],
    ["send() got an unexpected keyword argument 'cc'"],
    ["unsupported operand type(s) for +: 'int' and 'str'"],
    ["unsupported operand type(s) for +: 'NoneType' and 'int'"],
    ["invalid literal for int() with base 10: '12a'", "invalid literal for int() with base 10: ''"],
    ["could not convert string to float: 'abc'", "could not convert string to float: '1,5'"],
    ["'utf-8' codec can't decode byte 0xe9 in position 12: invalid continuation byte",
     "'utf-8' codec can't decode byte 0xff in position 9071: invalid continuation byte"],
    ["'ascii' codec can't encode character '\\xe9' in position 3: ordinal not in range(128)"],
    ["list index out of range"],
    ["division by zero"],
    ["user jan.novak@example.com (id 8812) has no address since 2026-03-04T12:00:01Z",
     "user eva@firma.example (id 3) has no address since 2025-11-30T23:59:59.123+01:00"],
    ["token 3fa85f64-5717-4562-b3fc-2c963f66afa6 expired at 12 May 2026",
     "token 00000000-0000-4000-8000-000000000000 expired at 1 June 2026"],
    ["token 3fa85f64-5717-4562-b3fc-2c963f66afa6 revoked"],
    ['connection to server at "10.0.3.4", port 5432 failed: Connection refused',
     'connection to server at "10.0.3.17", port 5433 failed: Connection refused'],
    ['connection to server at "10.0.3.4", port 5432 failed: FATAL: password authentication failed for user "app"'],
    ["ORA-00942: table or view does not exist"],
    ["ORA-00942: table or view does not exist".replace("00942", "04043").replace("table or view", "object")],
    ["ORA-00001: unique constraint (X.Y) violated"],
    ["command exited with status 137"],
    ["command exited with status 1"],
    ["worker exited with signal 9"],
    ["worker exited with signal 11"],
    ["Row 12 of customers.csv: column total is empty", "Row 90017 of customers.csv: column total is empty"],
    ["amount 12.50 EUR exceeds limit 10,000.00 EUR", "amount 99 EUR exceeds limit 5.00 EUR"],
    ["1 validation error for Invoice\nnumber\n  Field required [type=missing, input_value={'a': 1}]"],
    ["1 validation error for Invoice\ntotal\n  Field required [type=missing, input_value={'a': 1}]"],
    ["missing invoices: 1, 2, 3, 4", "missing invoices: 9", "missing invoices: 10 and 11"],
    ["<Invoice: Acme Ltd #42> has no lines", "<Invoice: Globex> has no lines"],
    ["Read timed out. (read timeout=30)", "Read timed out. (read timeout=5)"],
    ["Can't reach \u201cAcme Trading\u201d", "Can't reach \u201cGlobex\u201d"],
    ["object at 0x7f00aa12 is gone", "object at 0x55d0ffff0120 is gone"],
    ["commit 9fceb02d0ae598e95dc970b74767f19372d61af8 lost", "commit a1b2c3d4e5f60718293a4b5c6d7e8f9012345678 lost"],
    ["host fe80::1ff:fe23:4567:890a unreachable", "host 2001:db8::17 unreachable"],
    ["lock held since 12:30:15", "lock held since 03:01:59.004"],
]  # fmt: skip
"""One list for each cause: its deaths must be one, and no two lists may be."""
