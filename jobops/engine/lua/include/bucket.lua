-- Token buckets: so many starts in so much time. A hash keeps rate (how many), rate_per (ms), tokens and tokens_at (us);
-- one that keeps no tokens is full.
-- @include foreign

local ENOUGH = 1 - 1e-6 -- a token, but for what rounding took

-- The tokens there are now, of how many, in how many ms; nothing without a rate. A clock that was set back gives none
-- and takes none.
local function tokens_now(rate, per, tokens, at)
  local count, per_ms = tonumber(rate or ''), tonumber(per or '')
  if not (count and per_ms and count > 0 and per_ms > 0) then return nil end
  local have, since = tonumber(tokens or ''), tonumber(at or '')
  if not (have and since and have == have) then return count, count, per_ms end
  local passed = math.max(0, now_us - since)
  return math.min(count, have + passed * count / (per_ms * 1000)), count, per_ms
end

local function keep_tokens(key, have)
  gcall('HSET', key, 'tokens', string.format('%.17g', have), 'tokens_at', string.format('%.0f', now_us))
end

-- As tokens_now, of a bucket that somebody wants to take from: after a clock that was set back it counts from now on,
-- not from when the clock has come again to where it was.
local function tokens_of(key, rate, per, tokens, at)
  local have, count, per_ms = tokens_now(rate, per, tokens, at)
  if have and at and (tonumber(at) or 0) > now_us then keep_tokens(key, have) end
  return have, count, per_ms
end

-- When (ms) there is a whole token.
local function token_due(have, count, per_ms)
  return math.ceil((now_us + (1 - have) * per_ms * 1000 / count) / 1000)
end

-- Puts a rate in force ('' none). What was gained at the old rate stays gained; a new bucket is full.
local function set_rate(key, count, per_ms)
  local f = gcall('HMGET', key, 'rate', 'rate_per', 'tokens', 'tokens_at')
  local have = f[3] and tokens_now(f[1], f[2], f[3], f[4])
  if count == '' or not have then gcall('HDEL', key, 'tokens', 'tokens_at') else keep_tokens(key, have) end
  gcall('HSET', key, 'rate', count, 'rate_per', per_ms)
end
