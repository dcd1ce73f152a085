-- Ends of jobs that shall not run again: their dead letters.
-- @include death batch

local function bury(lease, reason)
  local job = 'rq:job:' .. lease.id
  local f = rcall('HMGET', job, 'jo_type', 'jo_key', 'jo_batch', 'jo_replay_of')
  close_job(lease.id, queue_name(lease.tenant, lease.lane), lease.tenant, f[1], f[2], 'failed', 'rq:failed:')
  rcall('HSET', job, 'jo_reason', reason, 'jo_died', now)
  rcall('PERSIST', job)
  rcall('ZADD', k('dead'), now, lease.id .. ':' .. lease.attempt)
  batch_ended(lease.id, f[3], f[4], 'dead')
end

-- Its tenant was deleted while it ran, so it has nowhere to go back to.
local function is_orphan(lease, job_uid)
  local uid = rcall('HGET', k('tenant', lease.tenant), 'uid')
  return not same_tenant(job_uid, uid) or (not uid and rcall('EXISTS', k('gone', lease.tenant)) == 1)
end

-- A waiting job of a tenant that is no more.
local function orphaned(lease)
  rcall('HSET', 'rq:job:' .. lease.id, 'jo_error_class', 'TenantDeleted', 'jo_error',
    'the tenant that it was enqueued for was deleted', 'jo_cause', 'unresolvable')
  bury(lease, 'unresolvable')
end
