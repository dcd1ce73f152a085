-- save_progress: how far a running job is.
-- ARGV: prefix, job, token, done, total
-- Answers: 1 (kept), 0 (the lease is not this token's any more: nothing changed)
-- @include args keys held
arg_count(5)
local id, token = arg_text(2, 'job'), arg_text(3, 'token')
arg_int(4, 'done', 0)
arg_int(5, 'total', 0)
if not holds(id, token) then return 0 end
rcall('HSET', 'rq:job:' .. id, 'jo_done', ARGV[4], 'jo_total', ARGV[5])
return 1
