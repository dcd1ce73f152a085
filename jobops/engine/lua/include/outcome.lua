-- Ends of watched jobs (replays), told to whoever keeps the dead letter. A death is told by the dead intake instead.

-- o: attempt, error_class, error, into. Nothing is told of a job that nobody watches.
local function tell_outcome(id, replay_of, outcome, o)
  if not replay_of or replay_of == '' then return end
  local member = cjson.encode({id = id, replay_of = replay_of, outcome = outcome, attempt = o.attempt or 0,
    error_class = o.error_class or '', error = o.error or '', into = o.into or '', at = now})
  -- A key of another kind must not keep the job from ending: who watches it sees by its record how it ended.
  local added = redis.pcall('ZADD', k('outcomes'), now, member)
  if type(added) == 'number' then redis.pcall('HSET', k('outcomes', 'of'), id, member) end
end
