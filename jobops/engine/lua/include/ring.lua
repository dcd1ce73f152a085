-- The lane's ring: who may run, by virtual time. ring_enter() is its only way in.
-- @include cell tenant bucket parked

local bare = {} -- lanes in whose ring nobody is, as this call has seen

-- Is the tenant below its cap, and below its cap in this lane ('' or none: no cap)?
local function has_room(slug, lane, cap, lane_cap)
  if cap and cap ~= '' and running_of(slug) >= tonumber(cap) then return false end
  return not lane_cap or lane_cap == '' or rcall('ZCARD', 'rq:wip:' .. queue_name(slug, lane)) < tonumber(lane_cap)
end

-- May this tenant start one more job in this lane? Answers that, and its fields. One that is only out of tokens is
-- parked until it has one.
local function may_run(slug, lane)
  local t = tenant_of(slug, lane)
  if not t[1] or t[4] == '1' or not has_room(slug, lane, t[2], t[3]) then return false, t end
  if not t[7] or t[7] == '' then return true, t end
  return has_token(slug, t), t
end

-- One token for a slot that waits for this lane; never more tokens than slots that wait.
local function wake(lane)
  local idle = k('idle', lane)
  if rcall('ZCARD', idle) == 0 then return end
  if cell('paused') == '1' then return end -- it would find nothing, and wake itself again
  rcall('ZREMRANGEBYSCORE', idle, '-inf', '(' .. now_text)
  local list = k('wake', lane)
  if rcall('LLEN', list) < rcall('ZCARD', idle) then
    rcall('LPUSH', list, '1')
    rcall('PEXPIRE', list, 5000) -- a token that nobody took is not needed any more
  end
end

-- Always max(vtime, vnow), for the tenant in its lane and for the lane among lanes: who slept saved nothing up, and
-- who was alone owes nobody. Answers whether the tenant is in the ring. filled: its queue is known not to be empty.
local function ring_enter(slug, lane, quiet, filled)
  local ring = k('ring', lane)
  if not filled and rcall('EXISTS', 'rq:queue:' .. queue_name(slug, lane)) == 0 then return false end
  if not rcall('ZSCORE', ring, slug) then
    local able, t = may_run(slug, lane)
    if not able then return false end
    local l = lane_of(lane)
    if rcall('ZCARD', ring) == 0 then
      local floor = tonumber(cell('lane_vnow') or 0)
      if floor > l.vtime then lane_set(lane, 'vtime', floor) end
    end
    local time = math.max(tonumber(t[5] or 0), l.vnow)
    note_time(slug, lane, time) -- later charges count from here, not from what was slept away
    rcall('ZADD', ring, string.format('%d', time), slug)
    bare[lane] = nil
  end
  if not quiet then wake(lane) end
  return true
end

-- Worker time in ms as virtual time, which is in whole microseconds: of others Redis would keep the texts, and read all of
-- a ring's to change one.
local function virtual(ms, part) return math.floor(ms * 1000 / part + 0.5) end

-- Charge (or, below zero, give back) worker time in ms to a tenant and to its lane. Without a weight the tenant was
-- deleted while its job ran: nobody is left to pay.
-- What is given back must have been charged since the ring (the lanes) were last levelled: the level counts what was
-- charged until then, and below it nobody may come. level and lane_level: as they were when it was charged.
-- Answers whether the tenant was seen in the ring.
local function charge(slug, lane, ms, level, lane_level)
  local t = tenant_of(slug, lane)
  if ms == 0 or not t[1] then return false end
  local l, in_ring = lane_of(lane), false
  if ms > 0 or l.level == level then
    local time = tonumber(t[5] or 0) + virtual(ms, t[1])
    note_time(slug, lane, time)
    in_ring = rcall('ZADD', k('ring', lane), 'XX', 'CH', string.format('%d', time), slug) == 1
    if time > l.vmax then lane_set(lane, 'vmax', time) end
  end
  if ms > 0 or (cell('lane_level') or '0') == lane_level then lane_set(lane, 'vtime', l.vtime + virtual(ms, l.share)) end
  return in_ring
end

-- Whatever is still runnable anywhere finds the next sleeper.
local function wake_all()
  for _, lane in each_lane() do
    if not bare[lane] and rcall('EXISTS', k('idle', lane)) == 1 and rcall('EXISTS', k('ring', lane)) == 1 then
      wake(lane)
    end
  end
end
