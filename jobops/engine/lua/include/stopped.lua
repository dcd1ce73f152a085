-- Somebody stopped the job while it ran: its lease carries the mark, and whoever ends the lease obeys it.
-- @include fail outcome batch

local STOPPED_TTL = 86400 -- as of a cancelled one

-- The job ends. Answers stopped.
local function end_stopped(lease, note)
  local job = 'rq:job:' .. lease.id
  local f = rcall('HMGET', job, 'jo_type', 'jo_key', 'jo_replay_of', 'jo_batch')
  rcall('HSET', job, 'jo_error_class', 'Stopped', 'jo_error', note, 'jo_cause', '')
  close_job(lease.id, queue_name(lease.tenant, lease.lane), lease.tenant, f[1] or lease.type, f[2], 'stopped',
    'rq:canceled:', STOPPED_TTL)
  tell_outcome(lease.id, f[3] or lease.replay_of, 'cancelled', {attempt = lease.attempt, error_class = 'Stopped',
    error = string.sub(note, 1, 500)})
  batch_ended(lease.id, f[4], f[3], 'cancelled')
  return 'stopped'
end

-- mark: end, or retry: then it starts again at once, as its next attempt, unless none is left. Answers stopped or retry.
local function obey(lease, mark, note)
  remember(lease, 'stopped', 'Stopped', string.sub(note, 1, 500))
  if mark == 'retry' then
    local f = rcall('HMGET', 'rq:job:' .. lease.id, 'jo_max_attempts', 'jo_tenant_uid')
    if lease.attempt < whole(f[1], 1) and not is_orphan(lease, f[2]) then
      return fail(lease, {cause = 'error', error_class = 'Stopped', error = note, traceback = '', front = true})
    end
  end
  return end_stopped(lease, note)
end

-- What is counted of a stopped job is what is counted of a cancelled one.
local function counted_as(ended) return ended == 'stopped' and 'cancelled' or ended end
