-- run_now: a delayed job, or one that backs off, goes to its queue at once. Caps, limits and pauses still hold.
-- ARGV: prefix, id, tenant ('' any)
-- Answers: queued, not_found (also: another tenant's), not_scheduled.
-- Events: a wake-up token for an idle slot of the lane.
-- @include args keys clock ring queue
arg_count(3)
local id = arg_text(2, 'id')
local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'jo_tenant', 'jo_lane', 'jo_type', 'jo_priority', 'jo_attempt')
if not f[2] or not f[4] or (ARGV[3] ~= '' and f[2] ~= ARGV[3]) then return 'not_found' end
if f[1] ~= 'scheduled' or not f[3] then return 'not_scheduled' end
rcall('ZREM', SCHEDULED, id)
push(id, f[2], f[3], f[5] == 'front' and whole(f[6], 0) == 0) -- as when it falls due: a retry has had its turn
return 'queued'
