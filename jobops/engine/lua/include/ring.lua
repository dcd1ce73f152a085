-- The lane's ring: who may run, by virtual time. ring_enter() is its only way in.

local all_lanes -- read once a call
local function each_lane()
  all_lanes = all_lanes or rcall('HKEYS', k('lanes'))
  return ipairs(all_lanes)
end

-- Is the tenant below its cap, and below its cap in this lane ('' or none: no cap)?
local function has_room(slug, lane, cap, lane_cap)
  if cap and cap ~= '' and rcall('ZCARD', k('inflight', slug)) >= tonumber(cap) then return false end
  return not lane_cap or lane_cap == '' or rcall('ZCARD', 'rq:wip:' .. queue_name(slug, lane)) < tonumber(lane_cap)
end

-- May this tenant start one more job in this lane? Answers that, and its policy's fields.
local function may_run(slug, lane)
  local t = rcall('HMGET', k('tenant', slug), 'weight', 'cap', 'cap:' .. lane, 'paused', 'vt:' .. lane, 'uid')
  if not t[1] or t[4] == '1' then return false, t end
  return has_room(slug, lane, t[2], t[3]), t
end

-- One token for a slot that waits for this lane; never more tokens than slots that wait.
local function wake(lane)
  local idle = k('idle', lane)
  if rcall('ZCARD', idle) == 0 then return end
  if rcall('HGET', CELL, 'paused') == '1' then return end -- it would find nothing, and wake itself again
  rcall('ZREMRANGEBYSCORE', idle, '-inf', '(' .. string.format('%.0f', now))
  local list = k('wake', lane)
  if rcall('LLEN', list) < rcall('ZCARD', idle) then
    rcall('LPUSH', list, '1')
    rcall('PEXPIRE', list, 5000) -- a token that nobody took is not needed any more
  end
end

-- Always max(vtime, vnow), for the tenant in its lane and for the lane among lanes: who slept saved nothing up, and
-- who was alone owes nobody. Answers whether the tenant is in the ring.
local function ring_enter(slug, lane, quiet)
  local ring = k('ring', lane)
  if not rcall('ZSCORE', ring, slug) then
    if rcall('EXISTS', 'rq:queue:' .. queue_name(slug, lane)) == 0 then return false end
    local able, t = may_run(slug, lane)
    if not able then return false end
    local l = rcall('HMGET', k('lane', lane), 'vnow', 'vtime')
    if rcall('ZCARD', ring) == 0 then
      local floor = tonumber(rcall('HGET', CELL, 'lane_vnow') or 0)
      if floor > tonumber(l[2] or 0) then rcall('HSET', k('lane', lane), 'vtime', floor) end
    end
    local vt = math.max(tonumber(t[5] or 0), tonumber(l[1] or 0))
    rcall('HSET', k('tenant', slug), 'vt:' .. lane, vt) -- later charges count from here, not from what was slept away
    rcall('ZADD', ring, vt, slug)
  end
  if not quiet then wake(lane) end
  return true
end

-- Charge (or, below zero, give back) worker time in ms to a tenant and to its lane. Without a weight the tenant was
-- deleted while its job ran: nobody is left to pay.
-- What is given back must have been charged since the ring (the lanes) were last levelled: the level counts what was
-- charged until then, and below it nobody may come. level and lane_level: as they were when it was charged.
local function charge(slug, lane, weight, ms, level, lane_level)
  if ms == 0 or not weight then return end
  local l = rcall('HMGET', k('lane', lane), 'share', 'vtime', 'vmax', 'level')
  if ms > 0 or (l[4] or '0') == level then
    local vt = tonumber(rcall('HINCRBYFLOAT', k('tenant', slug), 'vt:' .. lane, string.format('%.17g', ms / weight)))
    rcall('ZADD', k('ring', lane), 'XX', vt, slug)
    if vt > tonumber(l[3] or 0) then rcall('HSET', k('lane', lane), 'vmax', vt) end
  end
  if ms > 0 or (rcall('HGET', CELL, 'lane_level') or '0') == lane_level then
    rcall('HSET', k('lane', lane), 'vtime', tonumber(l[2] or 0) + ms / tonumber(l[1] or 1))
  end
end

-- Every lane in which the tenant has work: its in flight fell, its cap or pause changed.
local function ring_enter_all(slug, quiet)
  for _, lane in each_lane() do ring_enter(slug, lane, quiet) end
end

-- Whatever is still runnable anywhere finds the next sleeper.
local function wake_all()
  for _, lane in each_lane() do
    if rcall('EXISTS', k('idle', lane)) == 1 and rcall('EXISTS', k('ring', lane)) == 1 then wake(lane) end
  end
end
