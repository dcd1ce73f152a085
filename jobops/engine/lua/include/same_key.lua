-- Jobs of one key: the live one, the one whose success stands for it, and a waiting one that gives way to a newer.
-- @include leave counters batch outcome death

local ALIVE = {queued = true, scheduled = true, started = true, rate_limited = true}

-- Its id and status, if this tenant's job of the key lives.
local function live_holder(unique, uid)
  local id = rcall('GET', unique)
  if not id then return nil end
  local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'jo_tenant_uid')
  if ALIVE[f[1]] and same_tenant(f[2], uid) then return id, f[1] end
end

-- The id of the job whose success still stands for the key. Whose it was is kept with it: the job's record may be gone
-- by now, and the slug another customer's.
local function stands_for(slug, job_type, key, uid)
  local id, whose = string.match(rcall('GET', k('done', slug, job_type, key)) or '', '^(%S+) (.*)$')
  return id and whose == (uid or '') and id or nil
end

local KEPT_S = 86400 -- as of any cancelled job

-- The job ends as cancelled before it runs (again), in favour of a newer one of the same tenant, type and key. A record
-- that an outsider wrote must not stop this half-way: what it does not tell counts as this lane.
local function give_way(id, status, newer, slug, lane, job_type, key)
  local job = 'rq:job:' .. id
  local f = rcall('HMGET', job, 'jo_lane', 'jo_attempt', 'jo_replay_of', 'jo_batch', 'jo_waits', 'jo_back')
  lane = f[1] or lane
  leave_place(id, status, slug, lane, f[5])
  local text = 'job ' .. newer .. ' of the same key took its place at the depth limit'
  rcall('HSET', job, 'jo_error_class', 'Dropped', 'jo_error', text)
  close_job(id, queue_name(slug, lane), slug, job_type, key, 'canceled', 'rq:canceled:', KEPT_S)
  tell_outcome(id, f[3], 'cancelled', {attempt = whole(f[2], 0), error_class = 'Dropped', error = text, into = newer})
  batch_ended(id, f[4], f[3], 'cancelled')
  bump('tenant', {[slug .. '|cancelled'] = 1})
  pass_offer(status, f[6])
end
