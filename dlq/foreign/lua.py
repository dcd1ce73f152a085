"""The steps themselves, in Lua. Their keys are built from the installation's prefix, as RQ builds its own."""

from __future__ import annotations

from typing import Final

READ: Final = """
local prefix, most, budget, used, out = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), 0, {}
for i = 4, #ARGV do
  local id = ARGV[i]
  local key = prefix .. ':job:' .. id
  local score = redis.call('ZSCORE', KEYS[1], id) or ''
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'hash' then
    out[#out + 1] = {id, score, kind == 'none' and 'gone' or 'odd'}
  elseif redis.call('HLEN', key) > 1000 then
    out[#out + 1] = {id, score, 'large'}
  else
    local size = 0
    for _, name in ipairs(redis.call('HKEYS', key)) do
      size = size + #name + redis.call('HSTRLEN', key, name)
    end
    if size > most then
      out[#out + 1] = {id, score, 'large'}
    elseif used > 0 and used + size > budget then
      break
    else
      local newest = redis.pcall('XREVRANGE', prefix .. ':results:' .. id, '+', '-', 'COUNT', 1)
      local result = (not newest.err) and newest[1] or {'', {}}
      local told = 0
      for _, part in ipairs(result[2]) do
        told = told + #part
      end
      if told > most then
        result = {'', {}}
        told = 0
      end
      used = used + size + told
      out[#out + 1] = {id, score, 'there', redis.call('HGETALL', key), result[1], result[2]}
    end
  end
end
return out
"""

TAKE: Final = """
local taken = 0
for i = 2, #ARGV, 3 do
  local key = ARGV[1] .. ':job:' .. ARGV[i]
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  -- One that failed anew since is another failure: it stays.
  if score == ARGV[i + 1] then
    local ended = redis.pcall('HGET', key, 'ended_at')
    if type(ended) == 'table' then ended = '' end
    if (ended or '') == ARGV[i + 2] then
      taken = taken + redis.call('ZREM', KEYS[1], ARGV[i])
    end
  end
end
return taken
"""

PUSH: Final = """
local prefix, mark, mark_s, id, queue, now = ARGV[1], KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('EXISTS', mark) == 1 then return 'before' end
local key = prefix .. ':job:' .. id
local status = redis.call('HGET', key, 'status') or ''
if status ~= '' and status ~= 'failed' and status ~= 'stopped' and status ~= 'canceled' then return status end
if redis.call('HEXISTS', key, 'data') == 0 then
  for i = 7, #ARGV, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
end
-- What may be of another kind than RQ makes it is asked for first: what failed half-way would lose the job there.
local limit, at_once = redis.call('HGET', key, 'rate_limit_key'), redis.call('HGET', key, 'rate_limit_concurrency')
local most = limit and tonumber(at_once or '')
local allowed = most and prefix .. ':rl:' .. limit .. ':allowed'
local is_full = most and redis.call('ZCARD', allowed) >= most
local ttl = tonumber(redis.call('HGET', key, 'ttl') or '')
redis.call('LLEN', prefix .. ':queue:' .. queue)
redis.call('ZCARD', prefix .. ':failed:' .. queue)
redis.call('ZCARD', prefix .. ':canceled:' .. queue)
redis.call('HSET', key, 'status', 'queued', 'started_at', '', 'ended_at', '', 'enqueued_at', now, 'origin', queue)
redis.call('HDEL', key, 'exc_info')
local least, kept = tonumber(ARGV[6]), tonumber(redis.call('HGET', key, 'result_ttl') or '')
if kept and kept >= 0 and kept < least then redis.call('HSET', key, 'result_ttl', least) end
if ttl and ttl > 0 and ttl < 1e9 then redis.call('EXPIRE', key, math.ceil(ttl)) else redis.call('PERSIST', key) end
redis.call('PERSIST', key .. ':dependents')
redis.call('PERSIST', key .. ':dependencies')
local was_left = redis.call('ZREM', prefix .. ':failed:' .. queue, id)
redis.call('ZREM', prefix .. ':canceled:' .. queue, id)
redis.call('SADD', prefix .. ':queues', prefix .. ':queue:' .. queue)
if is_full then
  -- As RQ's own: it waits for a place, which whoever leaves one gives it.
  redis.call('HSET', key, 'status', 'rate_limited')
  redis.call('SADD', prefix .. ':rl-keys', limit)
  redis.call('HSET', prefix .. ':rl:' .. limit, 'concurrency', at_once)
  redis.call('ZADD', prefix .. ':rl:' .. limit .. ':rate_limited', redis.call('TIME')[1], id)
else
  if most then
    redis.call('SADD', prefix .. ':rl-keys', limit)
    redis.call('HSET', prefix .. ':rl:' .. limit, 'concurrency', at_once)
    redis.call('ZADD', allowed, redis.call('TIME')[1], id)
  end
  redis.call('RPUSH', prefix .. ':queue:' .. queue, id)
end
redis.call('SET', mark, was_left == 1 and 'left' or 'taken', 'EX', mark_s)
return 'sent'
"""

LOOK: Final = """
local key = ARGV[1] .. ':job:' .. ARGV[2]
local mark = redis.call('GET', KEYS[1]) or ''
if mark ~= '' then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' then return {mark, kind == 'none' and 'gone' or 'odd', ''} end
local told = redis.call('HMGET', key, 'status', 'ended_at')
return {mark, told[1] or 'gone', told[2] or ''}
"""
