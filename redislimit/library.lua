-- A library of two functions, @name@ and @name@_take. The algorithms are those of weir's Go code, function by function, and described there.
--
-- The first is about one client:
--
-- keys  1 the client's state, then its logs but the first one, in the policy's order. If two policies are named: as many
--       logs as either of them has, and then the note of a denial.
-- args  1 the policy's id   2 n   3 the instant, "" for this server's
--       4 verb: take, peek, refund   5 how many to take instead if n is admitted and there are so many
--       6 the id of the policy that the state was under before, or ""
--       7 the policy, in prefix notation, and the one before likewise, unless this server has seen both since it started:
--           T us ticks burst    a token bucket of that interval
--           F count period unit a fixed window, of a period in us (unit 1) or ns (unit 1000)
--           C count period unit a sliding counter
--           W count period early a sliding window's log, of a period in us, rounded up by so many ns
--           K capacity          a limit that time does not change; -1 for none
--           A parts, O parts    all and first-of; the parts follow
--           ?                   nobody knows: everything is used
--
-- It returns {1 or 0, remaining, retry, leaf, reset, taken}: remaining is -1 for no bound, and retry for never. Or {2, id} if
-- the state is under the policy of that id, which has to be named; or {3} if a policy that is named has to be told.
--
-- The other is about one client or several, whose token buckets all have to admit what they ask for:
--
-- keys  their states; one that is there more than once, in one place
-- args  1 the policy's id   then for each key n, which is above 0 and not above the capacity; or as 2x5, that it is asked for five
--       times, one after the other   and at the end the instant, or nothing for this server's. The id alone:
--       1 for each.
--
-- It returns the states, one behind the other, as they are afterwards, but with a number instead of the id: how many times n was
-- taken; or the id if that was once of once; or the greatest there is if the first function has to decide. Or {3}, as above.
--
-- A state is id (5 bytes), newest (7), and each leaf as it was at the instant newest:
--           T debt (8)   F start (7) used (6)   C start (7) previous (6) current (6)   W sum (6) length (4)
-- then the first log. A log is entries of instant (7), and the sum of what was taken before it (6), the oldest first. What was
-- brought from a longer period may have several of one instant.
--
-- Instants and spans are whole microseconds, and a debt has ticks, of 1/8 ns, beside them. So every number is an integer
-- below 2^53, which a Lua number holds exactly: no count or burst is above 2^40, and no span above 30 years, or 2^50 us.
--
-- A state of token buckets that all have to admit expires at the end of the second in which it is full, which every version of
-- this library keeps to. Any other state expires when it is full.

local floor, ceil, min, max, huge, pack, unpack, items, call

-- What is there only once a function runs.
local function begin()
  floor, ceil, min, max, huge = math.floor, math.ceil, math.min, math.max, math.huge
  pack, unpack, items, call = struct.pack, struct.unpack, _G.unpack, redis.call
end

local TICKS = 8000 -- in a microsecond
local HEAD = 12 -- bytes before the leaves
local ENTRY = 13 -- bytes of a log's entry
local PAGE = 32 -- entries that are read at once to look for one
local CHUNK = 1000 -- and to write them all anew, as a function has no place for many more numbers
local SUMS = 2 ^ 48 -- a log's sums are modulo this

-- floor(a * b / c) and the rest, for numbers and a quotient below 2^52.
local function muldiv(a, b, c)
  local product = a * b
  local q = floor(product / c)
  if product < 2 ^ 53 then
    return q, product - q * c
  end
  -- q is right, or one or two too many or too few. a * b - q * c is small, and exact in halves of 26 bits.
  local half = 2 ^ 26
  local a0, b0, c0, q0 = a % half, b % half, c % half, q % half
  local a1, b1, c1, q1 = (a - a0) / half, (b - b0) / half, (c - c0) / half, (q - q0) / half
  local r = ((a1 * b1 - q1 * c1) * half + (a1 * b0 + a0 * b1 - (q1 * c0 + q0 * c1))) * half + (a0 * b0 - q0 * c0)
  while r < 0 do
    q, r = q - 1, r + c
  end
  while r >= c do
    q, r = q + 1, r - c
  end
  return q, r
end

-- The leaves: how many bytes each has in a state, and what it is at an instant.

local BYTES = { T = 8, F = 13, C = 19, W = 10, K = 0 }

local function read(l, value, at)
  local kind = l.kind
  if kind == 'T' then
    local high, low = unpack('>I4I4', value, at)
    l.us, l.ticks = high * 2 ^ 19 + floor(low / 8192), low % 8192
  elseif kind == 'F' then
    l.start, l.used = unpack('>i7I6', value, at)
  elseif kind == 'C' then
    l.start, l.previous, l.current = unpack('>i7I6I6', value, at)
  elseif kind == 'W' then
    l.sum, l.length = unpack('>I6I4', value, at)
  end
end

local function written(l)
  local kind = l.kind
  if kind == 'T' then
    return pack('>I4I4', floor(l.us / 2 ^ 19), l.us % 2 ^ 19 * 8192 + l.ticks)
  elseif kind == 'F' then
    return pack('>i7I6', l.start, l.used)
  elseif kind == 'C' then
    return pack('>i7I6I6', l.start, l.previous, l.current)
  elseif kind == 'W' then
    return pack('>I6I4', l.sum, l.length)
  end
  return ''
end

-- The bytes of a log's entries, from one on, where they are stored.
local function stored(l, i, count)
  local at = l.base + ENTRY * i
  return call('GETRANGE', l.source, at, at + ENTRY * count - 1)
end

-- An instant of a log that is stored under another period: of its age, the same part of this one.
local function scaled(l, at)
  return l.carried - muldiv(max(0, min(l.carried - at, l.was)), l.period, l.was) -- whatever else somebody wrote there
end

-- A log's entry, from 0: its instant, and the sum before it.
local function entry(l, i)
  local e = l.list and l.list[i + 1] or i == 0 and l.oldest or i == l.length - 1 and l.added
  if e then
    return e[1], e[2]
  end
  local from = i - i % PAGE
  if l.paged ~= from then
    l.paged, l.page = from, stored(l, from, PAGE)
  end
  local at = ENTRY * (i - from)
  if #l.page < at + ENTRY then -- this server was short of memory, and has dropped it
    return -2 ^ 52, l.sum
  end
  local instant, before = unpack('>i7I6', l.page, at + 1)
  return l.was and scaled(l, instant) or instant, before
end

-- What was taken of a log from an entry on.
local function since(l, i)
  if i == l.length then
    return 0
  end
  local _, before = entry(l, i)
  return (l.sum - before) % SUMS
end

-- The first number, from one to another, that something holds for, as it does for all behind it; or the other.
local function search(from, to, holds)
  while from < to do
    local i = floor((from + to) / 2)
    if holds(i) then
      to = i
    else
      from = i + 1
    end
  end
  return from
end

-- How far in its window an instant lies, in the leaf's units.
local function elapsed(l, at)
  if l.unit == 1 then
    return at % l.period
  end
  local _, rest = muldiv(at % l.period, l.unit, l.period)
  return rest
end

local function micros(l, units)
  return ceil(units / l.unit)
end

-- A leaf's units as us, and by how many ns those are more. early is what units of us are too many by already.
local function rounded(l, units, early)
  local us = micros(l, units)
  return us, l.unit == 1 and early or us * 1000 - units
end

-- Brings a leaf from the instant newest, nil for one that was never used, to another that is not before it.
local function see(l, at, newest)
  local kind = l.kind
  if kind == 'T' then
    l.us = newest and l.us - (at - newest) or 0
    if l.us < 0 or not newest then
      l.us, l.ticks = 0, 0
    end
  elseif kind == 'F' then
    local rest = elapsed(l, at)
    local start = at - floor(rest / l.unit) -- the window's first microsecond
    if not newest or l.start ~= start then
      l.start, l.used = start, 0
    end
    l.left, l.early = rounded(l, l.period - rest, 0)
  elseif kind == 'C' then
    local rest = elapsed(l, at)
    local start = at - floor(rest / l.unit)
    if not newest then
      l.start, l.previous, l.current = start, 0, 0
    elseif l.start ~= start then
      l.previous = l.start == at - floor((rest + l.period) / l.unit) and l.current or 0
      l.start, l.current = start, 0
    end
    l.left = l.period - rest
  elseif kind == 'W' then
    if not newest then
      l.sum, l.length = 0, 0
    end
    l.first = 0 -- of those in view
    if l.length > 0 and entry(l, 0) <= at - l.period then
      l.first = search(1, l.length, function(i)
        return (entry(l, i)) > at - l.period
      end)
    end
    l.used = since(l, l.first)
  end
end

-- n intervals, as microseconds and ticks. n is at most the burst.
local function intervals(l, n)
  local ticks = n * l.intervalTicks
  if ticks < TICKS then
    return n * l.interval, ticks
  end
  return n * l.interval + floor(ticks / TICKS), ticks % TICKS
end

local function minus(us, ticks, us2, ticks2)
  us, ticks = us - us2, ticks - ticks2
  if ticks < 0 then
    return us - 1, ticks + TICKS
  end
  return us, ticks
end

local function plus(us, ticks, us2, ticks2)
  us, ticks = us + us2, ticks + ticks2
  if ticks >= TICKS then
    return us + 1, ticks - TICKS
  end
  return us, ticks
end

-- How many whole intervals there are in a span, and whether anything is over.
local function fit(l, us, ticks)
  if us == 0 and ticks == 0 then
    return 0, false
  end
  local n = floor((us + ticks / TICKS) / (l.interval + l.intervalTicks / TICKS)) -- or one more or less
  local u, t = minus(us, ticks, intervals(l, n))
  if u < 0 then
    n = n - 1
    u, t = minus(us, ticks, intervals(l, n))
  end
  local more, moreTicks = minus(u, t, l.interval, l.intervalTicks)
  if more >= 0 then
    return n + 1, more > 0 or moreTicks > 0
  end
  return n, u > 0 or t > 0
end

-- Until a count whose weight is left / period, and falling, weighs at most some number: in the leaf's units, and by how
-- many ns those are too many if they are us.
local function untilAtMost(l, weighted, most, left)
  if most >= weighted then
    return 0, 0
  end
  local passed, rest = muldiv(most, l.period, weighted)
  if passed >= left then
    return 0, 0
  end
  return left - passed, floor(rest * 1000 / weighted)
end

-- How long until a leaf admits n, and by how many ns that was rounded up: memory, which compares waits, has those.
local function leafWait(l, at, n)
  local kind = l.kind
  if n < 0 or n > l.capacity then
    return huge, 0
  elseif n == 0 or kind == 'K' then
    return 0, 0
  elseif kind == 'T' then
    local us, ticks = minus(l.us, l.ticks, intervals(l, l.capacity - n))
    if us < 0 or ticks == 0 then
      return max(us, 0), 0
    end
    return us + 1, 1000 - ceil(ticks / 8)
  elseif kind == 'F' then
    if n <= l.capacity - l.used then
      return 0, 0
    end
    return l.left, l.early
  elseif kind == 'C' then
    local free = l.capacity - n
    if l.current <= free then
      return rounded(l, untilAtMost(l, l.previous, free - l.current, l.left))
    end
    local wait, early = untilAtMost(l, l.current, free, l.period)
    return rounded(l, l.left + wait, early)
  end
  if n <= l.capacity - l.used then
    return 0, 0
  end
  local last = search(l.first, l.length - 1, function(i)
    return since(l, i + 1) <= l.capacity - n
  end)
  return entry(l, last) + l.period - at, l.early
end

-- How much of the capacity is not there, rounded up.
local function used(l)
  local kind = l.kind
  if kind == 'T' then
    local n, over = fit(l, l.us, l.ticks)
    return n + (over and 1 or 0)
  elseif kind == 'C' then
    local weighted, rest = muldiv(l.previous, l.left, l.period)
    return weighted + (rest > 0 and 1 or 0) + l.current
  end
  return l.used or 0
end

-- What would be admitted if n were taken before.
local function leafRoom(l, n)
  if l.kind == 'K' then
    return l.capacity
  end
  return max(0, l.capacity - used(l) - n)
end

-- How long until the leaf would be full if n were taken before.
local function leafReset(l, at, n)
  local kind = l.kind
  if kind == 'T' then
    local us, ticks = plus(l.us, l.ticks, intervals(l, n))
    return us + (ticks > 0 and 1 or 0)
  elseif kind == 'F' then
    return (l.used > 0 or n > 0) and l.left or 0
  elseif kind == 'C' then
    if l.current > 0 or n > 0 then
      return micros(l, l.left + l.period)
    end
    return l.previous > 0 and micros(l, l.left) or 0
  elseif kind == 'W' then
    if n > 0 then
      return l.period
    end
    return l.used > 0 and entry(l, l.length - 1) + l.period - at or 0
  end
  return 0
end

local function leafTake(l, at, n)
  local kind = l.kind
  if kind == 'T' then
    l.us, l.ticks = plus(l.us, l.ticks, intervals(l, n))
  elseif kind == 'F' then
    l.used = l.used + n
  elseif kind == 'C' then
    l.current = l.current + n
  elseif kind == 'W' then
    if l.first > 0 and 2 * l.first >= l.length then -- what is out of view is half of it
      for i = 1, l.list and l.length or 0 do
        l.list[i] = l.list[i + l.first]
      end
      l.cut, l.base, l.length, l.first = true, l.base + ENTRY * l.first, l.length - l.first, 0
      l.paged, l.oldest = nil, nil
    end
    if l.length == 0 or entry(l, l.length - 1) ~= at then
      l.added = { at, l.sum }
      if l.list then
        l.list[l.length + 1] = l.added
      end
      l.length = l.length + 1
    end
    l.sum, l.used = (l.sum + n) % SUMS, l.used + n
  end
end

-- Gives back up to n of what was taken last, and returns how many.
local function leafRefund(l, n)
  local kind = l.kind
  if kind == 'T' then
    local us, ticks = l.us, l.ticks
    if n < l.capacity then
      local u, t = intervals(l, n)
      if u < us or u == us and t < ticks then
        us, ticks = u, t
      end
    end
    l.us, l.ticks = minus(l.us, l.ticks, us, ticks)
    local given, over = fit(l, us, ticks)
    return given + (over and 1 or 0)
  elseif kind == 'F' then
    n = min(n, l.used)
    l.used = l.used - n
  elseif kind == 'C' then
    local late = min(n, l.current)
    local early = min(n - late, l.previous)
    l.current, l.previous = l.current - late, l.previous - early
    n = late + early
  elseif kind == 'W' then
    n = min(n, l.used)
    l.length = search(l.first, l.length, function(i)
      return since(l, i) <= n
    end)
    l.sum, l.used = (l.sum - n) % SUMS, l.used - n
  else
    n = 0
  end
  return n
end

-- The policies: trees of leaves.

-- Reads the policy that begins at an argument, and returns also where the next one does.
local function parse(args, at, leaves)
  local p = { kind = args[at] }
  if p.kind == 'A' or p.kind == 'O' then
    local narrow, parts = p.kind == 'A' and min or max, tonumber(args[at + 1])
    at = at + 2
    for i = 1, parts do
      p[i], at = parse(args, at, leaves)
      p.capacity = i == 1 and p[i].capacity or narrow(p.capacity, p[i].capacity)
    end
    return p, at
  end
  leaves[#leaves + 1], p.number = p, #leaves + 1
  local first, second, third = tonumber(args[at + 1]), tonumber(args[at + 2]), tonumber(args[at + 3])
  if p.kind == 'T' then
    p.interval, p.intervalTicks, p.capacity = first, second, third
    return p, at + 4
  elseif p.kind == 'K' then
    p.capacity = first < 0 and huge or first
    return p, at + 2
  elseif p.kind == 'W' then
    p.capacity, p.period, p.unit, p.early = first, second, 1, third
    return p, at + 4
  end
  p.capacity, p.period, p.unit = first, second, third
  return p, at + 4
end

-- Whether a policy is one token bucket, or several that all have to admit.
local function onlyBuckets(p)
  for _, part in ipairs(p) do
    if not onlyBuckets(part) then
      return false
    end
  end
  return p.kind == 'T' or p.kind == 'A'
end

-- Policies that this server was told, by their ids: trees, with leaves in which the state of one client after the other is
-- looked at.
local plans, known = {}, 0

local UNKNOWN = { leaves = {}, head = HEAD } -- what nobody knows, and this server does not learn

local function learn(args, at, id)
  local plan = { leaves = {}, logs = 0, head = HEAD }
  plan.policy, at = parse(args, at, plan.leaves)
  if onlyBuckets(plan.policy) then
    plan.number = unpack('>I5', id)
    plan.format = '>I5i7' .. ('I4I4'):rep(#plan.leaves)
    plan.undecided = ('\255'):rep(HEAD + BYTES.T * #plan.leaves)
    for _, l in ipairs(plan.leaves) do
      l.each = l.interval * TICKS + l.intervalTicks
      l.full = l.capacity * l.each -- of 2^53 and more it is known how much it is about
      l.fullUs, l.fullTicks = intervals(l, l.capacity)
    end
  end
  for _, l in ipairs(plan.leaves) do
    plan.head = plan.head + BYTES[l.kind]
    if l.kind == 'W' then
      plan.logs = plan.logs + 1
      l.log = plan.logs
    end
  end
  if known == 1000 then
    plans, known = {}, 0
  end
  if not plans[id] then
    known = known + 1
  end
  plans[id] = plan
  return plan, at
end

-- How long until n would be admitted, the leaf that sets it, and by how many ns that was rounded up.
local function blocker(p, at, n)
  if p.number then
    local wait, early = leafWait(p, at, n)
    return wait, p, early
  end
  local wait, leaf, early
  for i, part in ipairs(p) do
    local w, l, e = blocker(part, at, n)
    local longer = i == 1 or w > wait or w == wait and e < early
    local shorter = i == 1 or w < wait or w == wait and e > early
    if p.kind == 'A' and longer or p.kind == 'O' and shorter then
      wait, leaf, early = w, l, e
    end
  end
  return wait, leaf, early
end

-- The most that would be admitted after n, for which there is no wait, was taken; the leaf that sets it; and what that pays.
local function room(p, at, n)
  if p.number then
    return leafRoom(p, n), p, n
  end
  local most, leaf, paid, open = nil, nil, nil, true
  for i, part in ipairs(p) do
    local pays = n
    if p.kind == 'O' then
      if open and blocker(part, at, n) == 0 then
        open = false
      else
        pays = 0
      end
    end
    local r, l, of = room(part, at, pays)
    if i == 1 or p.kind == 'A' and r < most or p.kind == 'O' and r > most then
      most, leaf, paid = r, l, of
    end
  end
  return most, leaf, paid
end

local function take(p, at, n)
  if p.number then
    leafTake(p, at, n)
    return
  end
  for _, part in ipairs(p) do
    if p.kind == 'A' then
      take(part, at, n)
    elseif blocker(part, at, n) == 0 then
      take(part, at, n)
      return
    end
  end
end

local function refund(p, n)
  if p.number then
    return leafRefund(p, n)
  end
  local given = 0
  for i = #p, 1, -1 do
    if p.kind == 'A' then
      given = max(given, refund(p[i], n))
    else
      given = given + refund(p[i], n - given)
    end
  end
  return given
end

-- Carrying a state to another policy.

local function use(p)
  if p.number then
    return used(p)
  end
  local of = 0
  for _, part in ipairs(p) do
    of = p.kind == 'A' and max(of, use(part)) or of + use(part)
  end
  return of
end

local function spend(p, at, n)
  if p.number then
    n = min(n, p.capacity)
    if n > 0 then
      leafTake(p, at, n)
    end
    return n
  end
  local spent = 0
  for i, part in ipairs(p) do
    if p.kind == 'O' then
      spent = spent + spend(part, at, n - spent)
    else
      local of = spend(part, at, n)
      spent = i == 1 and of or min(spent, of)
    end
  end
  return spent
end

-- A span that is shorter than an interval, times b, in intervals: the whole ones, and what is over.
local function intervalsOf(l, us, ticks, b)
  local q, over, overTicks, bit = 0, 0, 0, 2 ^ 50
  local function add(u, t)
    over, overTicks = plus(over, overTicks, u, t)
    local less, lessTicks = minus(over, overTicks, l.interval, l.intervalTicks)
    if less >= 0 then
      q, over, overTicks = q + 1, less, lessTicks
    end
  end
  while bit >= 1 do
    q = 2 * q
    add(over, overTicks)
    if b >= bit then
      b = b - bit
      add(us, ticks)
    end
    bit = bit / 2
  end
  return q, over, overTicks
end

-- As many intervals of another length: debt * interval' / interval, rounded up to a tick.
local function carryDebt(from, to)
  local n = fit(from, from.us, from.ticks)
  if n >= to.capacity then
    to.us, to.ticks = intervals(to, to.capacity)
    return
  end
  local us, ticks = minus(from.us, from.ticks, intervals(from, n))
  local part, over, overTicks = intervalsOf(from, us, ticks, to.interval)
  local partTicks, rest, restTicks = intervalsOf(from, over, overTicks, TICKS)
  local more, moreRest, moreRestTicks = intervalsOf(from, us, ticks, to.intervalTicks)
  rest, restTicks = plus(rest, restTicks, moreRest, moreRestTicks)
  local fits, odd = fit(from, rest, restTicks)
  partTicks = partTicks + more + fits + (odd and 1 or 0)
  us, ticks = intervals(to, n)
  to.us, to.ticks = plus(us, ticks, part + floor(partTicks / TICKS), partTicks % TICKS)
end

-- Each entry with the part of its life that it has left, the newest ones if not all fit. They are read from where they are
-- until save writes them: a denial, which writes nothing, needs only a few of thousands.
local function carryLog(from, to, at)
  if from.used == 0 then
    return
  end
  local first = search(from.first, from.length - 1, function(i)
    return since(from, i + 1) < to.capacity
  end)
  to.list, to.source, to.base = nil, from.key, from.base + ENTRY * first
  to.sum, to.length = from.sum, from.length - first
  if to.period ~= from.period then
    to.carried, to.was = at, from.period
  end
  local oldest = entry(from, first)
  oldest = to.was and scaled(to, oldest) or oldest
  to.oldest = { oldest, (from.sum - min(to.capacity, since(from, first))) % SUMS } -- as much of it as fits
end

local function same(a, b)
  return a.kind == b.kind and a.capacity == b.capacity and a.period == b.period and a.unit == b.unit
end

-- Brings what a policy has at an instant to another, which is full.
local function carry(from, to, at)
  if not from.number or not to.number then
    if from.kind ~= to.kind or #from ~= #to then
      spend(to, at, use(from))
      return
    end
    for i, part in ipairs(from) do
      carry(part, to[i], at)
    end
  elseif from.kind == 'T' and to.kind == 'T' then
    carryDebt(from, to)
  elseif from.kind == 'W' and to.kind == 'W' then
    carryLog(from, to, at)
  elseif from.kind == 'F' and same(from, to) then
    to.used = from.used
  elseif from.kind == 'C' and same(from, to) then
    to.previous, to.current = from.previous, from.current
  elseif from.kind ~= 'K' and to.kind ~= 'K' then
    spend(to, at, used(from))
  end
end

-- States.

-- Reads a state, if there is one, into a plan's leaves, and returns its instant.
local function open(plan, keys, value)
  local at = HEAD + 1
  for i = 1, #plan.leaves do
    local l = plan.leaves[i]
    if value then
      read(l, value, at)
    end
    at = at + BYTES[l.kind]
    if l.log then
      l.key, l.base, l.list, l.added, l.cut = keys[l.log], l.log == 1 and plan.head or 0, nil, nil, false
      l.source, l.paged, l.oldest, l.was = l.key, nil, nil, nil
    end
  end
  return value and (unpack('>i7', value, 6))
end

local function seeAll(leaves, at, newest)
  for i = 1, #leaves do
    see(leaves[i], at, newest)
  end
end

-- Adds a log from its entry 0 on to what is to be written: copied as it is stored, unless that is under another period.
local function keep(l, parts)
  if l.list then
    for i, e in ipairs(l.list) do
      parts[#parts + 1] = pack('>i7I6', e[1], e[2])
    end
    return
  end
  local from, stays = 0, l.length - (l.added and 1 or 0)
  if l.oldest then
    parts[#parts + 1], from = pack('>i7I6', l.oldest[1], l.oldest[2]), 1
  end
  if not l.was and from < stays then
    parts[#parts + 1], from = stored(l, from, stays - from), stays
  end
  while from < stays do
    local count = min(CHUNK, stays - from)
    local format = '>' .. ('i7I6'):rep(count)
    local entries = { unpack(format, stored(l, from, count)) }
    for i = 1, 2 * count, 2 do
      entries[i] = scaled(l, entries[i])
    end
    parts[#parts + 1], from = pack(format, items(entries, 1, 2 * count)), from + count
  end
  if l.added then
    parts[#parts + 1] = pack('>i7I6', l.added[1], l.added[2])
  end
end

-- Writes a key until an instant. Those that args tell are not this server's, and nothing is forgotten at them.
local function put(key, value, expires, told, ...)
  if told then
    return call('SET', key, value, ...)
  end
  return call('SET', key, value, 'PXAT', ceil(expires / 1000), ...)
end

-- When a state of token buckets expires that is full at an instant: at the same for many, as setting it takes longer than all
-- that was computed.
local function later(full)
  return full - full % 1000000 + 1000000
end

-- Writes a plan's state as it is at an instant. One that is anew takes the place of whatever there was.
local function save(id, plan, keys, at, anew, told)
  local leaves = plan.leaves
  local first = leaves[1]
  local head, reset = id .. pack('>i7', at) .. written(first), leafReset(first, at, 0)
  for i = 2, #leaves do
    head = head .. written(leaves[i])
    reset = max(reset, leafReset(leaves[i], at, 0))
  end
  if reset == 0 then
    call('DEL', keys[1])
    return
  end
  if plan.logs == 0 then
    put(keys[1], head, plan.number and later(at + reset) or at + reset, told)
    return
  end
  for _, l in ipairs(leaves) do
    if l.log and (anew or l.cut) then
      local parts = { l.log == 1 and head or '' }
      keep(l, parts)
      l.whole = table.concat(parts) -- of each, before one is written to where another is read from
    end
  end
  for _, l in ipairs(leaves) do
    if l.log and (anew or l.cut) then
      if l.whole == '' then
        call('DEL', l.key)
      else
        put(l.key, l.whole, at + reset, told)
      end
      l.whole = nil
    elseif l.log then
      if l.log == 1 then
        call('SETRANGE', l.key, 0, head)
      end
      if l.added then
        call('SETRANGE', l.key, l.base + ENTRY * (l.length - 1), pack('>i7I6', l.added[1], l.added[2]))
      end
      if not told then
        call('PEXPIREAT', l.key, ceil((at + reset) / 1000))
      end
    end
  end
end

-- Looks at a state under another policy, which it keeps unless n is taken. A denial is noted, with its instant: the state
-- as it was carried then is what admits n when it was said to, as long as nothing else happens to it. Returns the instant,
-- and what to note of a denial, if it was not yet.
local function convert(from, to, id, keys, value, reading)
  for _, l in ipairs(to.leaves) do
    l.list = {}
  end
  local newest = from ~= UNKNOWN and open(from, keys, value) or reading
  local at, noted, head = max(reading, newest), call('GET', keys[#keys]), value:sub(1, from.head)
  local carried = at
  if noted and noted:sub(1, 5) == id and noted:sub(13) == head then
    carried = unpack('>i7', noted, 6)
  end
  seeAll(from.leaves, carried, newest)
  seeAll(to.leaves, carried)
  if from == UNKNOWN then -- all is used
    spend(to.policy, carried, min(to.policy.capacity, 2 ^ 53))
  else
    carry(from.policy, to.policy, carried)
  end
  at = max(at, carried)
  seeAll(to.leaves, at, carried)
  return at, carried == at and id .. pack('>i7', at) .. head
end

-- Decides about n of a plan's state, and takes it.
local function decide(verb, n, want, id, plan, keys, at, anew, note, late, told)
  local policy = plan.policy
  local wait, leaf = blocker(policy, at, n)
  local taken, remaining, pays = 0, nil, 0
  if wait > 0 then
    remaining = room(policy, at, 0)
  else
    remaining, leaf, pays = room(policy, at, n)
  end
  local reset = leafReset(leaf, at, pays)
  if verb == 'take' and n > 0 then
    if wait == 0 then
      take(policy, at, n)
      taken = n
      local more = min(want - n, remaining)
      if more > 0 then
        take(policy, at, more)
        taken = n + more
        remaining, leaf = room(policy, at, 0)
        reset = leafReset(leaf, at, 0)
      end
      save(id, plan, keys, at, anew, told)
    elseif note and n <= policy.capacity then
      local last = 0
      for _, l in ipairs(plan.leaves) do
        last = max(last, leafReset(l, at, 0))
      end
      put(keys[#keys], note, at + last, told)
    end
  end
  return {
    wait == 0 and 1 or 0,
    remaining == huge and -1 or remaining,
    wait == huge and -1 or wait > 0 and wait + late or 0,
    leaf.number,
    reset > 0 and reset + late or 0,
    taken,
  }
end

-- Takes n of token buckets so many times, or as often as they admit it: what decide does, and comes to the same, with no step
-- through a tree, and with debts in ticks where those are exact. It returns the state, as said above, and as it was stored,
-- if it was; and nothing for what it leaves to decide.
local function takeBuckets(plan, n, times, key, value, reading, told)
  if value and #value ~= plan.head then
    return nil
  end
  local state = value and { unpack(plan.format, value) } or { plan.number, reading }
  local newest = state[2]
  local passed = reading - newest
  if state[1] ~= plan.number or passed < 0 then
    return nil
  end
  state[2] = reading
  local leaves, taken, before, after = plan.leaves, times, 0, 0 -- how long until it was full, and is
  for i = 1, #leaves do
    local l, at, us, ticks = leaves[i], 2 * i + 1, 0, 0
    if value then
      local low = state[at + 1]
      ticks = low % 8192
      us = state[at] * 2 ^ 19 + (low - ticks) / 8192
      if us > before then
        before = us
      end
      us = us - passed
      if us < 0 then
        us, ticks = 0, 0
      end
    end
    local room = l.full - us * TICKS - ticks
    if room < (taken * n + 1) * l.each then -- else there is room, as one interval is more than what all these are rounded by
      if l.full < 2 ^ 53 then
        room = floor(room / l.each)
      else
        room = fit(l, minus(l.fullUs, l.fullTicks, us, ticks))
      end
      taken = max(0, min(taken, floor(room / n)))
    end
    state[at], state[at + 1] = us, ticks
  end
  for i = 1, #leaves do
    local l, at = leaves[i], 2 * i + 1
    local more = state[at + 1] + taken * n * l.intervalTicks
    local ticks = more % TICKS
    local us = state[at] + taken * n * l.interval + (more - ticks) / TICKS
    local part = us % 2 ^ 19
    state[at], state[at + 1] = (us - part) / 2 ^ 19, part * 8192 + ticks
    if us > after then
      after = us
    end
  end
  local stored
  if taken > 0 then
    stored = pack(plan.format, items(state)) -- but the last, which is where unpack has stopped
    local expires = later(reading + after)
    if not value then
      if not put(key, stored, expires, told, 'NX') then -- MGET knows no key that is not a string
        return nil
      end
    elseif not told and later(newest + before) == expires then
      call('SET', key, stored, 'KEEPTTL')
    else
      put(key, stored, expires, told)
    end
    if times == 1 then
      return stored, stored
    end
  end
  state[1] = taken
  return pack(plan.format, items(state)), stored
end

-- The instant that counts, and whether it is one that args tell.
local function clock(arg)
  if arg and arg ~= '' then
    return tonumber(arg), true
  end
  local time = call('TIME')
  return time[1] * 1000000 + time[2], false
end

local function run(keys, args)
  if not call then
    begin()
  end
  local id, verb, before = args[1], args[4], args[6] or ''
  if verb == 'reset' then -- logs mean nothing without a state
    call('DEL', keys[1])
    return { 1 }
  elseif verb == 'tell' then -- keeps the text of a policy
    call('SET', keys[1], args[2])
    return { 1 }
  elseif verb == 'ask' then
    return { 2, call('GET', keys[1]) or '' }
  end
  local plan, from = plans[id], before ~= '' and plans[before]
  if args[7] then
    local at
    plan, at = learn(args, 7, id)
    if before ~= '' then
      from = args[at] == '?' and UNKNOWN or learn(args, at, before)
    end
  elseif not plan or not from and before ~= '' then
    return { 3 }
  end

  local reading, told = clock(args[3])
  local head = max(plan.head, from and from.head or 0)
  local value = call('GETRANGE', keys[1], '0', head - 1) -- without a log of thousands of entries behind it
  local n = tonumber(args[2])
  local at, anew, note = reading, value == '', nil
  if anew or value:sub(1, 5) == id then
    local newest = open(plan, keys, not anew and value)
    at = max(reading, newest or reading)
    seeAll(plan.leaves, at, newest)
  elseif before ~= value:sub(1, 5) then
    return { 2, value:sub(1, 5) }
  else
    open(plan, keys)
    anew = true
    at, note = convert(from, plan, id, keys, value, reading)
  end
  if verb == 'refund' then
    if value ~= '' and refund(plan.policy, n) > 0 then
      save(id, plan, keys, at, anew, told)
    end
    return { 1 }
  end
  return decide(verb, n, tonumber(args[5]), id, plan, keys, at, anew, note, at - reading, told)
end

-- What is asked for, and how many times.
local function asked(word)
  local n = tonumber(word)
  if n then
    return n, 1
  end
  local times
  n, times = word:match('(%d+)x(%d+)')
  return tonumber(n), tonumber(times)
end

local function takeAll(keys, args)
  if not call then
    begin()
  end
  local plan = plans[args[1]]
  if not plan then
    return { 3 }
  end
  local reading, told = clock(args[#keys + 2])
  if #keys == 1 then
    local n, times = asked(args[2] or 1)
    return takeBuckets(plan, n, times, keys[1], call('GET', keys[1]), reading, told) or plan.undecided
  end
  local values, states, key, value = call('MGET', items(keys)), {}, nil, nil
  for i = 1, #keys do
    if keys[i] ~= key then
      key, value = keys[i], values[i]
    end
    local n, times = asked(args[i + 1] or 1)
    local state, stored = takeBuckets(plan, n, times, key, value, reading, told)
    states[i], value = state or plan.undecided, stored or value
  end
  return table.concat(states)
end

redis.register_function('@name@', run)
redis.register_function('@name@_take', takeAll)
