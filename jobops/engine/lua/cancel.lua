-- cancel: ends a waiting or delayed job before it runs (again).
-- ARGV: prefix, id ('' by key), tenant ('' any), type, key, ttl_s
-- Answers: {cancelled|not_found|started|ended, id}. A job of another tenant is not found.
-- Events: the outcome of a watched job.
-- @include args keys clock iso ring queue counters batch death outcome
arg_count(6)
local id, ttl = ARGV[2], arg_int(6, 'ttl_s', 1)
if id == '' then id = rcall('GET', k('key', ARGV[3], ARGV[4], ARGV[5])) or '' end
local job = 'rq:job:' .. id
local f = rcall('HMGET', job, 'status', 'jo_tenant', 'jo_lane', 'jo_type', 'jo_key', 'jo_attempt', 'jo_replay_of', 'jo_batch')
if not f[1] or not f[2] or (ARGV[3] ~= '' and f[2] ~= ARGV[3]) then return {'not_found', id} end
if f[1] == 'started' then return {'started', id} end
if f[1] == 'queued' then
  rcall('LREM', 'rq:queue:' .. queue_name(f[2], f[3]), 1, id)
  note_oldest(f[2], f[3])
elseif f[1] == 'scheduled' then
  rcall('ZREM', SCHEDULED, id)
else
  return {'ended', id}
end
close_job(id, queue_name(f[2], f[3]), f[2], f[4], f[5], 'canceled', 'rq:canceled:', ttl)
tell_outcome(id, f[7], 'cancelled', {attempt = whole(f[6], 0)})
batch_ended(id, f[8], f[7], 'cancelled')
bump('tenant', {[f[2] .. '|cancelled'] = 1})
return {'cancelled', id}
