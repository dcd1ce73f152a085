-- A lease that its holder gives back, as the worker stops.
-- @include fail

local FREE_RELEASES = 20

local function give_up_lease(lease, f, quiet)
  remember(lease, 'released', '', '')
  local job, releases = 'rq:job:' .. lease.id, whole(f[2], 0) + 1
  rcall('HSET', job, 'jo_releases', releases, 'worker_name', '')
  if releases > FREE_RELEASES or is_orphan(lease, f[6]) then
    return fail(lease, {cause = 'error', error_class = 'Released', traceback = '', front = true,
      error = 'released by a stopping worker ' .. releases .. ' times'})
  end
  rcall('HSET', job, 'jo_attempt', lease.attempt - 1)
  push(lease.id, lease.tenant, lease.lane, true, quiet)
  return 'released'
end
