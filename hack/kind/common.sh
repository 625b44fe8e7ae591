# shellcheck shell=bash disable=SC2034
# Shared by up, gitops, test and down. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cluster=${KIND_CLUSTER:-ingester-e2e}
state=$PWD/.local/kind
export KUBECONFIG=$state/kubeconfig
image=michelangelo-ingester:dev
missing=3 # exit code where a program is not there

say() { printf '==> %s\n' "$*" >&2; }

need() {
  command -v "$1" >/dev/null || { say "$1 is not on PATH; see docs/development.md for what to do without it."; exit "$missing"; }
}

need_docker() {
  { command -v docker && docker info; } >/dev/null 2>&1 || {
    say 'Docker is not running here; kind needs it. "npm run demo" and "npm test" do without.'
    exit "$missing"
  }
  need kind
  need kubectl
}

need_cluster() {
  [ -s "$KUBECONFIG" ] || { say 'there is no cluster; run hack/kind/up first.'; exit 1; }
}

password_of() { # one password a name, kept beside the kubeconfig
  [ -s "$state/$1.password" ] || (umask 077 && openssl rand -hex 16 >"$state/$1.password")
  cat "$state/$1.password"
}
