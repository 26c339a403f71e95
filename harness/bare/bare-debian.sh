#!/usr/bin/env bash
# The README's start command on a bare Debian: minbase, this machine's Node.js and npm, and nothing else, in a chroot (where user namespaces are refused)
# with the capabilities of a container. As root in root's home, as root elsewhere, and as an ordinary user: SQL, kill -9 of a leader, a wipe, SIGTERM.
#
#   sudo harness/bare/bare-debian.sh DIRECTORY [CASE...]     cases: root-home root-elsewhere user (default: all)
#
# Needs Linux, root, debootstrap, util-linux, iproute2, git and psql, and about 2 GiB in DIRECTORY, whose `root` is made once and used again.
# Ports and processes are in namespaces of its own. Exit code 0: every case passed.
set -euo pipefail

if [ "${1:-}" = "" ] || [ "$(id -u)" != 0 ]; then sed -n '2,9p' "$0"; exit 2; fi
if [ "${BARE_INSIDE:-}" = "" ]; then
  BARE_INSIDE=1 exec unshare --net --mount --pid --mount-proc --fork --kill-child -- "$0" "$@"
fi

here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
base=$(cd "$1" && pwd)
shift
root=$base/root
ip link set lo up

if [ ! -e "$base/made" ]; then
  [ -x "$root/usr/bin/apt" ] || debootstrap --variant=minbase bookworm "$root"
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  mkdir -p "$root/usr/local/lib/node_modules"
  cp "$(readlink -f "$(command -v node)")" "$root/usr/local/bin/node"
  cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  chroot "$root" useradd --create-home guest
  chmod 0700 "$root/root" "$root/home/guest"
  touch "$base/made"
fi
mount -t proc proc "$root/proc"
for device in null zero random urandom; do
  [ -c "$root/dev/$device" ] || cp -a "/dev/$device" "$root/dev/$device"
done

# What a container of Docker's has; a chroot refuses user namespaces whatever they are.
caps=-all
for cap in chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service sys_chroot; do caps=$caps,+$cap; done
# as ACCOUNT DIRECTORY COMMAND: there, with a clean environment.
as() {
  local account=$1 directory=$2
  shift 2
  local ids=()
  [ "$account" = root ] || ids=(--reuid "$(chroot "$root" id -u "$account")" --regid "$(chroot "$root" id -g "$account")" --clear-groups)
  setpriv --bounding-set "$caps" chroot "$root" setpriv "${ids[@]}" \
    env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$(chroot "$root" getent passwd "$account" | cut -d: -f6)" \
    sh -c 'cd "$1" && shift && exec "$@"' sh "$directory" "$@"
}
as root / unshare --user true 2>/dev/null && { echo 'user namespaces are not refused here'; exit 1; }

fail() { echo "FAILED: $*"; tail -40 "$base/out" || true; exit 1; }
sql() { psql -XAtq "postgresql://barista:barista@127.0.0.1:$1/barista" -c "$2"; }
# within SECONDS COMMAND: until it succeeds.
within() {
  local left=$1
  shift
  until "$@"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || return 1
    sleep 1
  done
}

# A case: ACCOUNT, DIRECTORY of the checkout, ACCOUNT that PostgreSQL is to run as.
run_case() {
  local account=$1 directory=$2 runs_as=$3
  echo "== as $account in $directory"
  rm -rf "${root:?}/$directory" "$root/var/lib/barista-demo" "$root/var/cache/barista"
  mkdir -p "$root/$directory"
  git -C "$here" archive HEAD | tar -x -C "$root/$directory"
  cp -a "$(readlink -f "$here/node_modules")" "$root/$directory/node_modules"
  chroot "$root" chown -R "$account:" "$directory"

  as "$account" "$directory" npm start >"$base/out" 2>&1 &
  local job=$!
  ready() { grep -q '^psql' "$base/out" || ! kill -0 "$job" 2>/dev/null; }
  within 600 ready || fail 'not ready in time'
  grep -q '^psql' "$base/out" || fail 'npm start ended'
  grep -E '^(psql|dashboard|Starting)' "$base/out"

  barista() { as "$account" "$directory" npx barista "$@"; }
  state() { barista status --json 2>/dev/null; }
  serving() { [ "$(state | grep -c '"state": "serving"')" = 3 ]; }
  within 120 serving || fail 'not all serve'
  local uids
  uids=$(for stat in /proc/[0-9]*/exe; do
    case $(readlink "$stat" 2>/dev/null) in */bin/postgres) stat -c %u "${stat%/exe}" ;; esac
  done | sort -u)
  [ "$uids" = "$(chroot "$root" id -u "$runs_as")" ] || fail "PostgreSQL runs as $uids"
  echo "PostgreSQL runs as $runs_as"

  sql 7432 "CREATE TABLE t (id serial PRIMARY KEY, word text); INSERT INTO t (word) VALUES ('still here')" || fail SQL
  local leader
  leader=$(state | sed -n 's/.*"leader": "\(r[0-9]\)".*/\1/p' | head -1)
  barista fault crash "$leader"
  again() { sql "$1" "INSERT INTO t (word) VALUES ('again')" >/dev/null 2>&1; }
  local other=7432
  [ "$leader" = r1 ] && other=7433
  within 60 again "$other" || fail 'no writes behind kill -9'
  barista fault restart "$leader"
  within 120 serving || fail 'not all serve behind kill -9'
  barista fault wipe "$leader"
  sleep 3
  within 240 serving || fail 'not all serve behind a wipe'
  [ "$(sql 7434 "SELECT count(*) >= 2 FROM t WHERE word IN ('still here', 'again')")" = t ] || fail 'rows are missing'
  local foreign data=$root/$directory/.barista
  [ -e "$data" ] || data=$root/var/lib/barista-demo
  foreign=$(find "$data" -path '*/postgres/data/*' ! -uid "$(chroot "$root" id -u "$runs_as")" | head -3)
  [ -z "$foreign" ] || fail "not the account's: $foreign"

  # In the background of a shell SIGINT is ignored by those that do not ask for it.
  kill -TERM "$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$data/running.json" | head -1)"
  ended() { ! kill -0 "$job" 2>/dev/null && ! readlink /proc/[0-9]*/exe 2>/dev/null | grep -q '/bin/postgres$'; }
  within 60 ended || fail 'processes are left'
  wait "$job" || true
  echo "passed: as $account in $directory"
}

[ $# -gt 0 ] || set -- root-home root-elsewhere user
for name in "$@"; do
  case $name in
    root-home) run_case root /root/barista nobody ;;
    root-elsewhere) run_case root /srv/barista nobody ;;
    user) run_case guest /home/guest/barista guest ;;
    *) echo "no such case: $name"; exit 2 ;;
  esac
done
