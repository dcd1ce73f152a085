-- save_checkpoint: keeps what a running job goes on from when it is started again. Nothing but this and a replay that
-- starts from the beginning ever changes it: not a retry, not a rescue, not a failure. Saved twice is saved once.
-- ARGV: prefix, job, token, state (JSON)
-- Answers: 1 (kept), 0 (the lease is not this token's any more: nothing changed)
-- @include args keys clock held
arg_count(4)
local id, token, state = arg_text(2, 'job'), arg_text(3, 'token'), arg_text(4, 'state')
if not holds(id, token) then return 0 end
rcall('HSET', 'rq:job:' .. id, 'jo_state', state, 'jo_state_at', now)
return 1
