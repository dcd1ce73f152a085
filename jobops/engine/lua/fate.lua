-- fate: what became of jobs, and whether it is still to be told (a death or an outcome that nobody has taken yet).
-- Changes nothing.
-- ARGV: prefix, id...
-- Answers: for each id {alive|succeeded|discarded|cancelled|dead|missing, pending (1/0), attempt, error_class, error}.
--          A job that was coalesced is missing.
-- @include args keys clock ring queue
arg_count(2, 1)
local STATES = {queued = 'alive', started = 'alive', scheduled = 'alive', rate_limited = 'alive', deferred = 'alive',
  failed = 'dead',
  canceled = 'cancelled', stopped = 'cancelled', finished = 'succeeded'}
local ATTEMPTS = 50 -- looked through for the death of a job whose record is gone

local function told(id) -- its outcome still waits to be read
  local member = redis.pcall('HGET', k('outcomes', 'of'), id)
  return type(member) == 'string' and type(redis.pcall('ZSCORE', k('outcomes'), member)) == 'string'
end

local function died(id, attempt)
  return rcall('ZSCORE', k('dead'), id .. ':' .. attempt)
end

local function fate(id)
  local f = redis.pcall('HMGET', 'rq:job:' .. id, 'status', 'jo_attempt', 'jo_error_class', 'jo_error', 'jo_outcome')
  local state, attempt = STATES[f[1] or ''], whole(f[2], 0)
  if not state then
    if rcall('EXISTS', k('lease', id)) == 1 then return {'alive', 0, attempt, '', ''} end
    for n = 0, ATTEMPTS do
      if died(id, n) then return {'dead', 1, n, '', ''} end
    end
    return {'missing', told(id) and 1 or 0, attempt, '', ''}
  end
  if state == 'succeeded' and f[5] == 'discarded' then state = 'discarded' end
  local pending = false
  if state == 'dead' then pending = died(id, attempt) elseif state ~= 'alive' then pending = told(id) end
  return {state, pending and 1 or 0, attempt, f[3] or '', string.sub(f[4] or '', 1, 2000)}
end

local answers = {}
for i = 2, #ARGV do answers[#answers + 1] = fate(ARGV[i]) end
return answers
