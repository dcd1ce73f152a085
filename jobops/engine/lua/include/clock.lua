-- Redis's clock is the only one: workers' clocks differ and jump.
local clock = redis.call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)
local now_text = string.format('%d', now) -- a number given to Redis is written out anew each time, and dearly
