-- The lane's ring: who may run, by virtual time. ring_enter() is its only way in.
-- @include bucket parked

-- A lane's share, vtime, vnow, vmax and level: read once a call, and written here too whenever they change.
local lanes_read = {}
local function lane_of(name)
  local l = lanes_read[name]
  if not l then
    local f = rcall('HMGET', k('lane', name), 'share', 'vtime', 'vnow', 'vmax', 'level')
    l = {share = tonumber(f[1] or 1), vtime = tonumber(f[2] or 0), vnow = tonumber(f[3] or 0),
      vmax = tonumber(f[4] or 0), level = f[5] or '0'}
    lanes_read[name] = l
  end
  return l
end

local bare = {} -- lanes in whose ring nobody is, as this call has seen

local all_lanes -- read once a call
local function each_lane()
  all_lanes = all_lanes or rcall('HKEYS', k('lanes'))
  return ipairs(all_lanes)
end

-- Is the tenant below its cap, and below its cap in this lane ('' or none: no cap)? running: how much of it is in
-- flight (nil: not counted yet).
local function has_room(slug, lane, cap, lane_cap, running)
  if cap and cap ~= '' and (running or rcall('ZCARD', k('inflight', slug))) >= tonumber(cap) then return false end
  return not lane_cap or lane_cap == '' or rcall('ZCARD', 'rq:wip:' .. queue_name(slug, lane)) < tonumber(lane_cap)
end

-- May this tenant start one more job in this lane? Answers that, and its policy's fields: 7 is its rate, 8 the hint
-- that some of it waits at gates. One that is only out of tokens is parked until it has one.
local function may_run(slug, lane)
  local t = rcall('HMGET', k('tenant', slug), 'weight', 'cap', 'cap:' .. lane, 'paused', 'vt:' .. lane, 'uid', 'rate',
    'held')
  if not t[1] or t[4] == '1' or not has_room(slug, lane, t[2], t[3]) then return false, t end
  if not t[7] or t[7] == '' then return true, t end
  local b = rcall('HMGET', k('tenant', slug), 'rate_per', 'tokens', 'tokens_at')
  local tokens, count, per = tokens_of(k('tenant', slug), t[7], b[1], b[2], b[3])
  t.tokens, t.count, t.per = tokens, count, per
  if not tokens or tokens >= ENOUGH then return true, t end
  park('tenant:' .. slug, token_due(tokens, count, per))
  return false, t
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
-- who was alone owes nobody. Answers whether the tenant is in the ring. filled: its queue is known not to be empty.
local function ring_enter(slug, lane, quiet, filled)
  local ring = k('ring', lane)
  if not filled and rcall('EXISTS', 'rq:queue:' .. queue_name(slug, lane)) == 0 then return false end
  if not rcall('ZSCORE', ring, slug) then
    local able, t = may_run(slug, lane)
    if not able then return false end
    local l = lane_of(lane)
    if rcall('ZCARD', ring) == 0 then
      local floor = tonumber(rcall('HGET', CELL, 'lane_vnow') or 0)
      if floor > l.vtime then
        l.vtime = floor
        rcall('HSET', k('lane', lane), 'vtime', floor)
      end
    end
    local vt = string.format('%.17g', math.max(tonumber(t[5] or 0), l.vnow))
    rcall('HSET', k('tenant', slug), 'vt:' .. lane, vt) -- later charges count from here, not from what was slept away
    rcall('ZADD', ring, vt, slug)
    bare[lane] = nil
  end
  if not quiet then wake(lane) end
  return true
end

-- Charge (or, below zero, give back) worker time in ms to a tenant and to its lane. Without a weight the tenant was
-- deleted while its job ran: nobody is left to pay. before: its virtual time in this lane.
-- What is given back must have been charged since the ring (the lanes) were last levelled: the level counts what was
-- charged until then, and below it nobody may come. level and lane_level: as they were when it was charged.
-- Answers whether the tenant was seen in the ring.
local function charge(slug, lane, weight, before, ms, level, lane_level)
  if ms == 0 or not weight then return false end
  local l, in_ring, more = lane_of(lane), false, {}
  if ms > 0 or l.level == level then
    local time = tonumber(before or 0) + ms / weight
    local text = string.format('%.17g', time)
    rcall('HSET', k('tenant', slug), 'vt:' .. lane, text)
    in_ring = rcall('ZADD', k('ring', lane), 'XX', 'CH', text, slug) == 1
    if time > l.vmax then
      l.vmax = time
      more = {'vmax', text}
    end
  end
  if ms > 0 or (rcall('HGET', CELL, 'lane_level') or '0') == lane_level then
    l.vtime = l.vtime + ms / l.share
    more[#more + 1] = 'vtime'
    more[#more + 1] = string.format('%.17g', l.vtime)
  end
  if more[1] then rcall('HSET', k('lane', lane), unpack(more)) end
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
