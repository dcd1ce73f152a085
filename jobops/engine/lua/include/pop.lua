-- A queue's next job.
-- @include meet bury

local TOMBSTONES = 16  -- gone or cancelled heads passed over of one tenant before the next one's turn
local FIELDS = {'status', 'jo_type', 'jo_attempt', 'jo_max_attempts', 'jo_timeout', 'jo_lease', 'data', 'jo_key',
  'jo_correlation', 'jo_enqueued', 'jo_releases', 'jo_tenant_uid', 'jo_replay_of', 'jo_resource', 'jo_state',
  'jo_front', 'jo_order', 'jo_runnable'}

-- It does not start: what a gate had offered it goes to the next one.
local function pass_by(id)
  local back = redis.pcall('HGET', 'rq:job:' .. id, 'jo_back')
  if type(back) == 'string' and back ~= '' then release(back, 1, true) end
end

-- The tenant's first job that may start, or nil; how many others were passed; the gates it passes. t: the tenant's
-- fields, met: what is known of gates in this call.
local function pop(slug, lane, t, met)
  local queue = 'rq:queue:' .. queue_name(slug, lane)
  for passed = 0, TOMBSTONES - 1 do
    local id = rcall('LPOP', queue)
    if not id then return nil, nil, passed end
    local h = redis.pcall('HMGET', 'rq:job:' .. id, unpack(FIELDS)) -- one of another kind is passed over
    if h[1] == 'queued' then
      local lease = {id = id, tenant = slug, lane = lane, attempt = whole(h[3], 0)}
      if not same_tenant(h[12], t[6]) then
        orphaned(lease)
        pass_by(id)
      elseif lease.attempt < whole(h[4], 1) then
        local wants = met.any_types == '1' or (h[14] and h[14] ~= '')
        local gates = wants and gates_of(h[2] or '', h[14], met.any_types)
        local passes = gates and meet(id, slug, lane, t, gates, h[17], h[16], met)
        if passes or not gates then return id, h, passed, passes or nil end
        t[8] = '1'
      else
        bury(lease, 'exhausted') -- put back by an outsider though its attempts are spent: not one more start
        pass_by(id)
      end
    else
      pass_by(id)
    end
  end
  return nil, nil, TOMBSTONES
end
