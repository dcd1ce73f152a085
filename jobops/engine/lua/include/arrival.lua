-- A job that arrives: what is asked, what speaks against it at once, and the way of nearly all of them, who wait behind
-- others without anybody to be woken. It ends here, before there are the functions that only the others need: Redis makes
-- all of a command's functions anew at each call, and these cost as much as the rest of it.
-- @include args keys clock iso

-- A number that is 0 in nearly all calls: those cost no look at it.
local function arg_rare(i, name) return ARGV[i] == '0' and 0 or arg_int(i, name, 0) end

-- Answers what is answered; or nothing, and the job as the rest of the command looks at it.
local function arrive()
  arg_count(23)
  local id, slug, lane, job_type, data = arg_text(2, 'id'), arg_text(3, 'tenant'), arg_text(4, 'lane'), ARGV[5], ARGV[6]
  arg_int(7, 'max_attempts', 1)
  local timeout, key, delay, due = arg_int(8, 'timeout_ms', 1), ARGV[10], arg_rare(12, 'delay_ms'), arg_rare(13, 'due_ms')
  arg_int(9, 'lease_ms', 1)
  local front, replay_of, batch = arg_flag(14, 'front'), ARGV[16], ARGV[22]
  arg_int(15, 'result_ttl_s', 1)
  local dedup, drop, keep = arg_rare(19, 'dedup_ms'), arg_flag(20, 'drop'), arg_rare(21, 'keep')
  local job, queue, pushed = 'rq:job:' .. id, queue_name(slug, lane), k('pushed', id)

  local before = rcall('GET', pushed)
  if before then return {before == id and 'duplicate' or 'coalesced', before} end
  -- That mark lives a day; a job that waits or is kept for longer is the same job still.
  if rcall('EXISTS', job) == 1 then return {'duplicate', id} end
  local t = rcall('HMGET', k('tenant', slug), 'weight', 'intake_closed', 'depth_limit', 'uid')
  if not t[1] or not same_tenant(ARGV[17], t[4]) then return {'unknown_tenant'} end
  if rcall('HEXISTS', k('lanes'), lane) == 0 then return {'unknown_lane'} end
  if t[2] == '1' then return {'intake_closed'} end

  local limit, unique = tonumber(t[3] or ''), key ~= '' and k('key', slug, job_type, key)
  if due == 0 and delay > 0 then due = now + delay end
  local later = due > now
  local state, runnable = later and 'scheduled' or 'queued', later and string.format('%.0f', due) or now_text

  -- What a job need not have.
  local function write_options()
    local given = {}
    local function give(name, value)
      given[#given + 1] = name
      given[#given + 1] = value
    end
    if unique then give('jo_key', key) end
    if front then give('jo_priority', 'front') end
    if later then give('jo_due', runnable) end
    if replay_of ~= '' then give('jo_replay_of', replay_of) end
    if ARGV[18] ~= '' then give('jo_resource', ARGV[18]) end
    if dedup > 0 then give('jo_dedup', ARGV[19]) end
    if keep > 0 then give('jo_keep', ARGV[21]) end
    if batch ~= '' then give('jo_batch', batch) end
    if ARGV[23] ~= '' then give('jo_state', ARGV[23]) end
    if given[1] then rcall('HSET', job, unpack(given)) end
  end

  -- Its place in the queue (or, for later, among the delayed), its marks and its record. Answers whether that is all: it
  -- is for later, or its tenant is in the lane's ring and nobody waits for work.
  local function take_in()
    -- The place first: a key of another kind fails here, before anything is written. Else the id would count as pushed
    -- and the job be nowhere.
    local waiting = later and rcall('ZADD', SCHEDULED, string.format('%.3f', due / 1000), id)
      or rcall(front and 'LPUSH' or 'RPUSH', 'rq:queue:' .. queue, id)
    rcall('SET', pushed, id, 'EX', '86400')
    if unique then rcall('SET', unique, id) end
    local at = iso_now()
    -- First what promotion and claim read and write: Redis looks for a field of a small hash from its beginning.
    rcall('HSET', job, 'status', state, 'jo_runnable', runnable, 'jo_front', front and '1' or '', 'origin', queue,
      'jo_type', job_type, 'jo_attempt', '0', 'jo_max_attempts', ARGV[7], 'jo_timeout', ARGV[8], 'jo_lease', ARGV[9],
      'data', data, 'jo_correlation', ARGV[11], 'jo_enqueued', now_text, 'jo_tenant_uid', t[4] or '', 'worker_name', '',
      'started_at', '', 'jo_result_ttl', ARGV[15], 'created_at', at, 'enqueued_at', at, 'description', job_type,
      'timeout', string.format('%d', math.ceil(timeout / 1000)), 'result_ttl', ARGV[15], 'jo_tenant', slug,
      'jo_lane', lane)
    write_options()
    if later then return true end
    if waiting == 1 then -- else both are so since there was none
      rcall('SADD', 'rq:queues', 'rq:queue:' .. queue)
      rcall('ZADD', k('active', lane), 'NX', now_text, slug)
    end
    return rcall('ZSCORE', k('ring', lane), slug) and rcall('ZCARD', k('idle', lane)) == 0
  end

  -- Nobody else has to be looked at: those of its key or its batch.
  local alone = batch == '' and (not unique or (dedup == 0 and not rcall('GET', unique)))
  if alone and not limit and take_in() then return {state, id} end
  return nil, {id = id, slug = slug, lane = lane, type = job_type, key = key, unique = unique, uid = t[4], limit = limit,
    replay_of = replay_of, dedup = dedup, drop = drop, batch = batch, alone = alone, later = later, state = state,
    take_in = take_in}
end

local done, new = arrive()
if done then return done end
