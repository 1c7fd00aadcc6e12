// Replay: the memory grows again, from its first day on.

const REPLAY_SECONDS = 14

function mapReplay(map) {
  let replay = null, playing = null

  function play() {
    if (!map.points || map.points.n_days < 2) return
    if (replay) return stop()
    const last = map.daybook.last()
    replay = { from: map.days[1] >= last ? 0 : map.days[1], since: performance.now(), last }
    tell()
    advance()
  }

  function advance() {
    if (!replay) return
    const { from, since, last } = replay, passed = (performance.now() - since) / 1000
    const along = from + (isCalm() ? Math.floor(passed) : passed) * (last / REPLAY_SECONDS)
    const day = Math.min(last, Math.floor(along))
    map.days = [0, day >= last ? OPEN_END : day]
    map.daybook.grow(day)
    if (day >= last) stop()
    else map.frame(advance)
    map.dirty()
  }

  function stop() {
    if (!replay) return
    replay = null
    tell()
    map.changed()
  }

  function tell() {
    if (!playing) return
    playing.textContent = replay ? '❚❚' : '▶'
    playing.title = replay ? 'Pause (P)' : 'Play how the memory grew (P)'
    playing.setAttribute('aria-label', playing.title)
    playing.className = 'play'
  }

  function button() {
    playing ??= makeButton(map, null, '', '', play)
    tell()
    return playing
  }

  return { play, stop, button, isPlaying: () => Boolean(replay) }
}
