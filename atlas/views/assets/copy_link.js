// A button that copies the address of the page as it is now.

const DONE_MILLISECONDS = 4000
const ICON = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M10 14a5 5 0 0 0 7 0l3-3a5 5 0 0 0-7-7l-1 1M14 10a5 5 0 0 0-7 0l-3 3a5 5 0 0 0 7 7l1-1"/></svg>'

// Over plain http, browsers have a clipboard on the loopback alone. Elsewhere the older way may still work.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

function copySelected(text) {
  const box = document.body.appendChild(document.createElement('textarea'))
  box.value = text
  box.select()
  try {
    return document.execCommand('copy')
  } finally {
    box.remove()
  }
}

export default function ({ parentElement }) {
  let root = parentElement.querySelector('.atlas-copy')
  if (root) return
  root = parentElement.appendChild(document.createElement('div'))
  root.className = 'atlas-copy'
  const button = root.appendChild(document.createElement('button'))
  button.type = 'button'
  button.innerHTML = ICON
  button.setAttribute('aria-label', 'Copy link')
  button.title = 'Copy link. It opens this page with the same task and settings, for anyone who can open this dashboard.'
  const status = root.appendChild(document.createElement('span'))
  status.setAttribute('role', 'status')
  const address = root.appendChild(document.createElement('input'))
  Object.assign(address, { readOnly: true, hidden: true })
  address.setAttribute('aria-label', 'Address of this page')
  let timer
  button.addEventListener('click', async () => {
    const isCopied = await copy(location.href)
    status.textContent = isCopied ? 'Link copied' : 'The browser does not let a page copy. Copy this:'
    Object.assign(address, { hidden: isCopied, value: location.href })
    if (!isCopied) address.focus(), address.select()
    clearTimeout(timer)
    if (isCopied) timer = setTimeout(() => (status.textContent = ''), DONE_MILLISECONDS)
  })
}
