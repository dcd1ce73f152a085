-- Whether a lease is this token's: the same test by which settle tells a stale token. What a job saves of itself is
-- fenced by it, so that a run whose job was given away meanwhile overwrites nothing of its successor's.
local function holds(id, token)
  return rcall('HGET', k('lease', id), 'token') == token and rcall('ZSCORE', k('leases'), id) ~= false
end
