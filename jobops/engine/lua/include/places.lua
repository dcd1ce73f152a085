-- Everywhere that a job's id stands, as far as it can be told without walking all queues.

local ATTEMPTS = 50 -- its latest ones, looked through for deaths that are not in the database yet

local started = {} -- queue → job id → its members in RQ's started registry; read once a call
local function started_members(queue, id)
  if not started[queue] then
    local by_job = {}
    for _, member in ipairs(rcall('ZRANGE', 'rq:wip:' .. queue, 0, 9999)) do
      local each = string.match(member, '^(.-):') or member
      by_job[each] = by_job[each] or {}
      table.insert(by_job[each], member)
    end
    started[queue] = by_job
  end
  return started[queue][id] or {}
end

local function entries(queue, id)
  local found = redis.pcall('LPOS', 'rq:queue:' .. queue, id, 'COUNT', 0)
  return type(found) == 'table' and not found.err and #found or 0
end

-- The queue that the job belongs to: '', '' when neither its record nor its lease says.
local function home(id, f)
  if f[2] and f[3] then return f[2], f[3] end
  local slug, lane = string.match(f[4] or '', '^(.+)%.([^.]+)$')
  if slug then return slug, lane end
  local l = redis.pcall('HMGET', k('lease', id), 'tenant', 'lane')
  return l[1] or '', l[2] or ''
end

-- queues: names of others to look into. Answers status ('' no record), slug, lane, queue (its own), entries (name →
-- how often it stands there), type, attempt, due, died, lease (in the index), lease_hash, delayed, deaths, inflight,
-- wip, waits (the gate that its record says it waits for), rooms (gates in whose waiting it stands), held.
local function places(id, queues)
  local f = redis.pcall('HMGET', 'rq:job:' .. id, 'status', 'jo_tenant', 'jo_lane', 'origin', 'jo_type', 'jo_attempt',
    'jo_due', 'jo_died', 'jo_waits', 'jo_resource')
  local slug, lane = home(id, f)
  local p = {status = f[1] or '', slug = slug, lane = lane, queue = lane ~= '' and queue_name(slug, lane) or '',
    type = f[5] or '', attempt = whole(f[6], 0), due = whole(f[7], now), died = f[8] and whole(f[8], now),
    entries = {}, deaths = {}, wip = {}, waits = f[9] or '', rooms = {}}
  if p.queue ~= '' then
    p.entries[p.queue] = entries(p.queue, id)
    p.wip = started_members(p.queue, id)
    p.inflight = rcall('ZSCORE', k('inflight', slug), id)
    p.held = peek(false, 'ZSCORE', k('held', p.queue), id)
  end
  for _, queue in ipairs(queues) do p.entries[queue] = p.entries[queue] or entries(queue, id) end
  local gates = {[p.waits] = true, [f[10] or ''] = true, ['type:' .. p.type] = true}
  if not f[1] then -- nothing tells where it may wait
    for _, gate in ipairs(peek({}, 'SMEMBERS', k('gates'))) do gates[gate] = true end
  end
  for gate in pairs(gates) do
    if peek(false, 'ZSCORE', k('waiting', gate), id) then table.insert(p.rooms, gate) end
  end
  table.sort(p.rooms)
  p.lease = rcall('ZSCORE', k('leases'), id)
  p.lease_hash = rcall('EXISTS', k('lease', id)) == 1
  p.delayed = rcall('ZSCORE', SCHEDULED, id)
  for n = math.max(0, p.attempt - ATTEMPTS), p.attempt do
    if rcall('ZSCORE', k('dead'), id .. ':' .. n) then table.insert(p.deaths, id .. ':' .. n) end
  end
  return p
end
