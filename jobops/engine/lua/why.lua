-- why: all that decides whether and when one job starts, at one instant. Changes nothing.
-- ARGV: prefix, id, tenant, lane, type, resource: what it is if Redis has no record of it, as of one in the outbox ('':
--       then nothing is told but the first four)
-- Answers: flat pairs of name and value; lists and pairs within as such. What is not there is ''. Without a record of
--          the job and without a tenant only: now, job, lease, into.
-- @include args keys clock ring queue lease depth holders crew
arg_count(6)
local MOST_AHEAD, MINUTES = 10000, 10
local id = arg_text(2, 'id')
local facts = {}
local function tell(...)
  for _, part in ipairs({...}) do facts[#facts + 1] = part end
end

local job = redis.pcall('HGETALL', 'rq:job:' .. id)
if job.err then job = {} end
local h = {}
for i = 1, #job, 2 do h[job[i]] = job[i + 1] end

local lease = read_lease(id)
local lease_ms, timeout = terms_of(lease and rcall('HGET', k('lease', id), 'terms') or '')
tell('now', string.format('%.0f', now), 'job', job)
tell('lease', lease and {'worker', lease.worker, 'attempt', lease.attempt,
  'started', string.format('%.0f', math.floor(lease.started / 1000)), 'lease', lease_ms or '', 'timeout', timeout or '',
  'stop', lease.stop, 'note', lease.stop_note, 'until', rcall('ZSCORE', k('leases'), id) or ''} or {})
tell('into', rcall('GET', k('pushed', id)) or '')

if not job[1] and ARGV[3] ~= '' then
  h = {jo_tenant = ARGV[3], jo_lane = ARGV[4], jo_type = ARGV[5], jo_resource = ARGV[6]}
end
local slug, lane = h.jo_tenant, h.jo_lane
if not slug or not lane then return facts end
local queue = queue_name(slug, lane)

local c = rcall('HMGET', CELL, 'paused', 'promote_tick')
tell('lane', lane, 'paused', c[1] or '', 'promoted', c[2] or '')
tell('tenant', rcall('HGETALL', k('tenant', slug)), 'gone', rcall('EXISTS', k('gone', slug)))
tell('inflight', rcall('ZCARD', k('inflight', slug)), 'holders', holders(k('inflight', slug)))
tell('running', rcall('ZCARD', 'rq:wip:' .. queue), 'lane_holders', holders('rq:wip:' .. queue))

local depths, turn = {}, rcall('ZRANK', k('ring', lane), slug)
for _, each in each_lane() do
  depths[#depths + 1] = each
  depths[#depths + 1] = rcall('LLEN', 'rq:queue:' .. queue_name(slug, each))
end
local position = h.status == 'queued' and rcall('LPOS', 'rq:queue:' .. queue, id, 'MAXLEN', MOST_AHEAD) or ''
tell('depths', depths, 'depth', depth_of(slug), 'known_lane', rcall('HEXISTS', k('lanes'), lane))
tell('position', position, 'turn', turn or '', 'ring', rcall('ZCARD', k('ring', lane)))
tell('idle', rcall('ZCOUNT', k('idle', lane), string.format('%.0f', now), '+inf'))
tell('due', h.status == 'scheduled' and rcall('ZSCORE', SCHEDULED, id) or '')

local gates = {}
if h.jo_type then gates[1] = gate_facts('type:' .. h.jo_type, id, queue, position) end
if (h.jo_resource or '') ~= '' then gates[#gates + 1] = gate_facts(h.jo_resource, id, queue, position) end
tell('gates', gates, 'crew', crew(h.jo_type or ''), 'usual', cell('average:' .. (h.jo_type or '')) or '')

local starts, minute = {}, math.floor(now / 60000)
for back = 0, MINUTES do
  starts[back + 1] = rcall('HGET', k('minute', string.format('%.0f', minute - back), 'tenant'), slug .. '|starts') or '0'
end
tell('starts', starts)
return facts
