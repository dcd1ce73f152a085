-- The pick. Lane with the least virtual time among those with a ring; tenant with the least in it; its oldest job.

local TRIES = 64       -- ring entries looked at in one call
local TOMBSTONES = 16  -- gone or cancelled heads passed over for one tenant before the next one's turn
local FIELDS = {'status', 'jo_type', 'jo_attempt', 'jo_max_attempts', 'jo_timeout', 'jo_lease', 'data', 'jo_key',
  'jo_correlation', 'jo_enqueued', 'jo_releases', 'jo_tenant_uid', 'jo_replay_of', 'jo_resource', 'jo_state'}

-- Answers {name, vtime, share, vnow, vmax, level, slug and score of the ring's first}, or nil.
local function pick_lane(lanes)
  local best
  for _, name in ipairs(lanes) do
    local head = rcall('ZRANGE', k('ring', name), 0, 0, 'WITHSCORES')
    if head[1] then
      local l = rcall('HMGET', k('lane', name), 'vtime', 'share', 'vnow', 'vmax', 'level')
      local vtime = tonumber(l[1] or 0)
      if not best or vtime < best.vtime then
        best = {name = name, vtime = vtime, share = tonumber(l[2] or 1), vnow = tonumber(l[3] or 0),
          vmax = tonumber(l[4] or 0), level = l[5] or '0', slug = head[1], score = tonumber(head[2])}
      end
    end
  end
  return best
end

-- Rings are empty: who ran until now owes nobody, and the slot waits. Registered in the same step, so that an enqueue
-- between this answer and the slot's sleep finds it.
local function wait_idle(slot, lanes, block)
  local before = tonumber(rcall('HGET', CELL, 'lane_vnow') or 0)
  local top = before
  for _, lane in ipairs(lanes) do
    if rcall('EXISTS', k('ring', lane)) == 0 then
      local l = rcall('HMGET', k('lane', lane), 'vnow', 'vmax', 'vtime')
      if tonumber(l[2] or 0) > tonumber(l[1] or 0) then
        rcall('HSET', k('lane', lane), 'vnow', l[2])
        rcall('HINCRBY', k('lane', lane), 'level', 1)
      end
      top = math.max(top, tonumber(l[3] or 0))
    end
    rcall('ZADD', k('idle', lane), now + block + 250, slot)
  end
  if top > before then
    rcall('HSET', CELL, 'lane_vnow', top)
    rcall('HINCRBY', CELL, 'lane_level', 1)
  end
end

-- The tenant's first job that is one, or nil and how many tombstones were passed.
local function pop(slug, lane, uid)
  local queue = 'rq:queue:' .. queue_name(slug, lane)
  for passed = 0, TOMBSTONES - 1 do
    local id = rcall('LPOP', queue)
    if not id then return nil, nil, passed end
    local h = rcall('HMGET', 'rq:job:' .. id, unpack(FIELDS))
    if h[1] == 'queued' then
      local lease = {id = id, tenant = slug, lane = lane, attempt = whole(h[3], 0)}
      if not same_tenant(h[12], uid) then
        orphaned(lease)
      elseif lease.attempt < whole(h[4], 1) then
        return id, h, passed
      else
        bury(lease, 'exhausted') -- put back by an outsider though its attempts are spent: not one more start
      end
    end
  end
  return nil, nil, TOMBSTONES
end

-- Answers the job's record, or nil and for how long to wait (0: ask again at once).
local function claim(slot, worker, token, lanes, block, was_idle)
  if was_idle then
    for _, lane in ipairs(lanes) do
      rcall('ZREM', k('idle', lane), slot)
      -- Tokens for slots that wait no more would wake later ones for nothing.
      local waiting = rcall('ZCARD', k('idle', lane))
      if waiting == 0 then rcall('DEL', k('wake', lane)) else rcall('LTRIM', k('wake', lane), 0, waiting - 1) end
    end
  end
  local cell = rcall('HMGET', CELL, 'paused', 'lane_vnow', 'lane_level')
  if cell[1] == '1' then
    wait_idle(slot, lanes, block)
    return nil, block
  end
  for _ = 1, TRIES do
    local l = pick_lane(lanes)
    if not l then
      wait_idle(slot, lanes, block)
      return nil, block
    end
    local slug, lane = l.slug, l.name
    local able, t = may_run(slug, lane)
    if not able then
      rcall('ZREM', k('ring', lane), slug)
    else
      local id, h, passed = pop(slug, lane, t[6])
      if id then
        if l.vtime > tonumber(cell[2] or 0) then rcall('HSET', CELL, 'lane_vnow', l.vtime) end
        return take(id, h, l, t, cell[3] or '0', slot, worker, token)
      end
      if passed > 0 then charge(slug, lane, t[1], 1) end -- nobody waits for another's tombstones
      note_oldest(slug, lane)
    end
  end
  return nil, 0
end
