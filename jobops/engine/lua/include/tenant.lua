-- What a call knows of tenants: read once, and kept here when it changes.
-- @include later

-- A tenant's fields as claims need them, read once a call for each lane: weight, cap, cap in the lane, paused, its
-- virtual time there, uid, rate, and the hint that some of it waits at gates.
local tenants_read = {}
local function tenant_of(slug, lane)
  local own = tenants_read[slug]
  if not own then
    own = {}
    tenants_read[slug] = own
  end
  local t = own[lane]
  if not t then
    t = rcall('HMGET', k('tenant', slug), 'weight', 'cap', 'cap:' .. lane, 'paused', 'vt:' .. lane, 'uid', 'rate', 'held')
    own[lane] = t
  end
  return t
end

local function note_time(slug, lane, time)
  tenant_of(slug, lane)[5] = time
  write_later(k('tenant', slug), 'vt:' .. lane, time)
end

-- The hint by which all others know that there is nothing to look for.
local function note_held(slug, held)
  for _, t in pairs(tenants_read[slug] or {}) do t[8] = held end
  if held then rcall('HSET', k('tenant', slug), 'held', held) else rcall('HDEL', k('tenant', slug), 'held') end
end

-- How much of a tenant is in flight; whoever changes that says so here.
local running_now = {}
local still_busy = {} -- tenants that are among the busy, as a lease of theirs ended in this call
local function running_of(slug)
  local running = running_now[slug]
  if not running then
    running = rcall('ZCARD', k('inflight', slug))
    running_now[slug] = running
  end
  return running
end
