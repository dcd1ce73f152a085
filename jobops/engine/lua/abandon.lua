-- abandon: the process of a slot is gone. The slot is closed for ever (a request of its still on the way does nothing)
-- and its lease, if any, ends at once as a lost attempt.
-- ARGV: prefix, slot, cause (worker_lost|timeout|stopped), error
-- Answers: none, retry, dead or stopped (the lease carries the mark of a stop, or the cause says so).
-- Events: as settle.
-- @include args keys relief clock iso counters ring queue lease batch death outcome kept lost
arg_count(4)
local slot = k('slot', arg_text(2, 'slot'))
local cause = arg_text(3, 'cause')
needs_no_memory()
local s = rcall('HMGET', slot, 'job', 'token')
rcall('HSET', slot, 'closed', '1')
rcall('EXPIRE', slot, 86400)
for _, lane in each_lane() do rcall('ZREM', k('idle', lane), ARGV[2]) end
if not s[1] or s[1] == '' then return 'none' end
local lease = read_lease(s[1])
if not lease or lease.token ~= s[2] then return 'none' end
return lose(lease, cause, ARGV[4])
