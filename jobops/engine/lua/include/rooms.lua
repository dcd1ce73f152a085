-- One queue's waiting rooms against each other: waiting, held, lines, turns and what is in flight at its gates.

local function stands_in(queue, gate, id)
  return gcall('ZSCORE', k('held', queue), id) or gcall('ZSCORE', k('line', queue, gate), id)
end

-- A member that does not wait there leaves; one that does stands everywhere.
local function tidy_member(id, slug, lane, gate)
  local f = redis.pcall('HMGET', 'rq:job:' .. id, 'status', 'jo_waits', 'jo_tenant', 'jo_lane', 'jo_order', 'jo_runnable')
  if f[3] and f[4] and (f[3] ~= slug or f[4] ~= lane) then return false end -- another queue's
  if f[1] == 'rate_limited' and f[2] and f[2] ~= '' then
    local order = gcall('ZSCORE', k('line', queue_name(slug, lane), f[2]), id) or f[5]
    stand_in(id, slug, lane, f[2], tonumber(order or '') or whole(f[6], now))
    if f[2] ~= gate and gate ~= '' then
      gcall('ZREM', k('waiting', gate), id)
      gcall('ZREM', k('line', queue_name(slug, lane), gate), id)
    end
  elseif f[1] or stands_in(queue_name(slug, lane), gate, id) then
    leave_room(id, slug, lane, gate)
  else
    gcall('ZREM', k('waiting', gate), id) -- no job at all
  end
end

-- What is in flight there for longer than its lease lasted, though there is none any more.
local function tidy_inflight(gate, limit)
  local inflight = k('inflight', 'resource', gate)
  for _, id in ipairs(gcall('ZRANGEBYSCORE', inflight, '-inf', now, 'LIMIT', 0, limit)) do
    if not rcall('ZSCORE', k('leases'), id) then gcall('ZREM', inflight, id) end
  end
end

local function tidy_gate(slug, lane, gate, limit)
  local queue = queue_name(slug, lane)
  for _, id in ipairs(gcall('ZRANGE', k('line', queue, gate), 0, limit - 1)) do tidy_member(id, slug, lane, gate) end
  for _, id in ipairs(gcall('ZRANGE', k('waiting', gate), 0, limit - 1)) do tidy_member(id, slug, lane, gate) end
  tidy_inflight(gate, limit)
  if rcall('EXISTS', k('line', queue, gate)) == 0 then
    gcall('SREM', k('lines', queue), gate)
    turns_leave(gate, queue)
  else
    note_gate(gate)
    if may_run(slug, lane) then turns_enter(gate, queue) end
    release(gate, 1)
  end
end

local function tidy_rooms(slug, lane, limit)
  local queue = queue_name(slug, lane)
  for _, id in ipairs(gcall('ZRANGE', k('held', queue), 0, limit - 1)) do
    local gate = redis.pcall('HGET', 'rq:job:' .. id, 'jo_waits')
    tidy_member(id, slug, lane, type(gate) == 'string' and gate or '')
  end
  local gates = gcall('SMEMBERS', k('lines', queue))
  table.sort(gates)
  for _, gate in ipairs(gates) do tidy_gate(slug, lane, gate, limit) end
  if gates[1] and rcall('HEXISTS', k('tenant', slug), 'weight') == 1 then note_held(slug, '1') end
  if rcall('EXISTS', k('parked')) == 1 then note_first_parked() end
end
