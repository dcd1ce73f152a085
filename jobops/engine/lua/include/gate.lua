-- A gate limits starts: a resource, or a job type ("type:<name>") with a limit, a pause or a brake of its own.
-- @include bucket parked

local BACKSTOP_MS = 1000 -- a gate with room and waiters is looked at again after so long, whatever was lost

local function is_type_gate(gate) return string.sub(gate, 1, 5) == 'type:' end

-- There is such a gate. Claims look for gates of types only where there are any.
local function note_gate(gate)
  gcall('SADD', k('gates'), gate)
  if is_type_gate(gate) then cell_set('type_gates', '1') end
end

-- The gates that such a job has to pass; nil: none. any_types: the cell's hint.
local function gates_of(job_type, resource, any_types)
  local gates
  if any_types == '1' and gcall('SISMEMBER', k('gates'), 'type:' .. job_type) == 1 then gates = {'type:' .. job_type} end
  if resource and resource ~= '' then
    gates = gates or {}
    gates[#gates + 1] = resource
  end
  return gates
end

-- Until when (ms) the brake is on, 0: there is none; and whether the clock was set back since it was put on: then it
-- lasts no longer for it.
local function brake_now(till, put_on)
  local brake, back = tonumber(till or '') or 0, (tonumber(put_on or '') or 0) - now
  return back > 0 and brake - back or brake, back > 0
end

-- For how many starts it has room; when time alone makes some; its tokens; whether its limits are known.
-- A resource of which nobody has set limits (as after a loss) lets nobody through: workers and the scheduler set them.
local function gate_room(gate)
  local key = k('resource', gate)
  local g = gcall('HMGET', key, 'known', 'concurrency', 'rate', 'rate_per', 'tokens', 'tokens_at', 'brake_until',
    'brake_at', 'paused')
  local known = g[1] == '1'
  if g[9] == '1' then return 0, nil, nil, known end
  local brake, back = brake_now(g[7], g[8])
  if back then gcall('HSET', key, 'brake_until', brake, 'brake_at', now) end
  if brake > now then return 0, brake, nil, known end
  if not known and not is_type_gate(gate) then return 0, now + BACKSTOP_MS, nil, known end
  local room, most = math.huge, tonumber(g[2] or '')
  if most then
    room = most - gcall('ZCARD', k('inflight', 'resource', gate))
    if room <= 0 then return 0, nil, nil, known end
  end
  local tokens, count, per = tokens_of(key, g[3], g[4], g[5], g[6])
  if tokens then
    if tokens < ENOUGH then return 0, token_due(tokens, count, per), nil, known end
    room = math.min(room, math.floor(tokens + 1e-6))
  end
  return room, nil, tokens, known
end

-- Nobody starts before that instant; an earlier brake is never shortened.
local function put_brake(gate, till, id)
  note_gate(gate)
  local key = k('resource', gate)
  if till > (tonumber(gcall('HGET', key, 'brake_until') or '') or 0) then
    gcall('HSET', key, 'brake_until', till, 'brake_by', id, 'brake_at', now)
  end
  park('resource:' .. gate, tonumber(gcall('HGET', key, 'brake_until')))
end

-- A gate of which nothing is left to say is none.
local function forget_bare(gate)
  local key = k('resource', gate)
  local g = gcall('HMGET', key, 'known', 'paused', 'brake_until')
  if g[1] == '1' or g[2] == '1' or (tonumber(g[3] or '') or 0) > now then return end
  if rcall('EXISTS', k('waiting', gate), k('inflight', 'resource', gate)) > 0 then return end
  rcall('DEL', key)
  gcall('SREM', k('gates'), gate)
  gcall('ZREM', k('parked'), 'resource:' .. gate)
  if not is_type_gate(gate) then return end
  for _, each in ipairs(gcall('SMEMBERS', k('gates'))) do
    if is_type_gate(each) then return end
  end
  cell_set('type_gates', '')
end
