-- Attempts that are lost: the worker is gone or cut off.
-- @include put_back

local function error_class_of(cause) return cause == 'timeout' and 'JobTimeout' or 'WorkerLost' end

-- What decides about a lost job.
local function read_lost(id) return rcall('HMGET', 'rq:job:' .. id, 'status', 'jo_max_attempts', 'jo_tenant_uid') end

-- Is its next attempt to begin, with nothing else to be looked at? f: as read_lost answers.
local function goes_back(lease, f, cause)
  return f[1] == 'started' and lease.stop == '' and cause ~= 'stopped' and lease.attempt < whole(f[2], 1)
    and not has_no_home(lease, f[3])
end

-- The job dies, or does what the mark of a stop says.
local function lose_last(lease, status, cause, text)
  local used = end_lease(lease, false, LOSS_MS)
  if not status then restore(lease) end
  local ended
  if lease.stop ~= '' or cause == 'stopped' then
    ended = obey(lease, lease.stop == 'retry' and 'retry' or 'end', lease.stop ~= '' and lease.stop_note or text)
  else
    local error_class = error_class_of(cause)
    remember(lease, cause, error_class, text)
    ended = fail(lease, {cause = cause, error_class = error_class, error = text, traceback = '', front = true})
    count_lost(lease)
  end
  count('tenant', lease.tenant .. '|us', math.floor(used * 1000))
  if ended ~= 'retry' then count('tenant', lease.tenant .. '|' .. counted_as(ended), 1) end
  bump_counted()
  return ended
end

-- The next attempt stands first in its queue, or the job dies; or, with the mark of a stop, what that says. A job that
-- does not run (its end or its way back is final, the lease a leftover) is not touched: that is 'none'.
local function lose(lease, cause, text)
  local f = read_lost(lease.id)
  if f[1] and f[1] ~= 'started' then
    let_go(lease)
      return 'none'
  end
  if not goes_back(lease, f, cause) then return lose_last(lease, f[1], cause, text) end
  lease.error = text
  put_back({lease}, cause, error_class_of(cause))
  bump_counted()
  return 'retry'
end
