-- cancel: ends a waiting or delayed job before it runs (again).
-- ARGV: prefix, id ('' by key), tenant ('' any), type, key, ttl_s
-- Answers: {cancelled|not_found|started|ended, id}. A job of another tenant is not found.
-- Events: the outcome of a watched job; a wake-up token for who gets the room at a gate that it was offered.
-- @include args keys clock iso leave counters batch death outcome
arg_count(6)
local id, ttl = ARGV[2], arg_int(6, 'ttl_s', 1)
if id == '' then id = rcall('GET', k('key', ARGV[3], ARGV[4], ARGV[5])) or '' end
local job = 'rq:job:' .. id
local f = rcall('HMGET', job, 'status', 'jo_tenant', 'jo_lane', 'jo_type', 'jo_key', 'jo_attempt', 'jo_replay_of', 'jo_batch',
  'jo_waits', 'jo_back')
if not f[1] or not f[2] or (ARGV[3] ~= '' and f[2] ~= ARGV[3]) then return {'not_found', id} end
if f[1] == 'started' then return {'started', id} end
if not leave_place(id, f[1], f[2], f[3], f[9]) then return {'ended', id} end
close_job(id, queue_name(f[2], f[3]), f[2], f[4], f[5], 'canceled', 'rq:canceled:', ttl)
tell_outcome(id, f[7], 'cancelled', {attempt = whole(f[6], 0)})
batch_ended(id, f[8], f[7], 'cancelled')
bump('tenant', {[f[2] .. '|cancelled'] = 1})
pass_offer(f[1], f[10])
return {'cancelled', id}
