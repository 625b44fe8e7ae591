# shellcheck shell=bash disable=SC2034
# Shared by up, gitops, test and down. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cluster=${KIND_CLUSTER:-ingester-e2e}
state=${KIND_STATE:-$PWD/.local/kind}
export KUBECONFIG=$state/kubeconfig
# Those that a node image was made of, for all clusters of this folder.
programs=$PWD/.local/kind-programs
image=michelangelo-ingester:dev
# What is claimed newest; the workflow names it too.
newest_node=kindest/node:v1.36.1@sha256:3489c7674813ba5d8b1a9977baea8a6e553784dab7b84759d1014dbd78f7ebd5
missing=3 # exit code where a program is not there

say() { printf '==> %s\n' "$*" >&2; }

need() {
  command -v "$1" >/dev/null && return
  case "$1" in
    docker) say 'there is no Docker: "apt-get install docker.io iptables", or another package of your system. "npm run demo" and "npm test" do without.' ;;
    debootstrap) say 'there is no debootstrap: "apt-get install debootstrap".' ;;
    *) say "$1 is not on PATH; see docs/development.md for what to do without it." ;;
  esac
  exit "$missing"
}

need_docker() {
  need docker
  local answer
  answer=$(docker info --format '{{.DriverStatus}}' 2>&1) || {
    case "$answer" in
      *'permission denied'*) say "you may not use Docker here: be root, or a member of the group docker and log in again." ;;
      *) say 'no Docker daemon answers. Start it: "systemctl start docker", or hack/kind/daemon where there is no systemd.' ;;
    esac
    exit "$missing"
  }
  mkdir -p "$state"
  chmod 700 "$state"
  use_builder
}

# The first docker of PATH that can build: 20.10 has a builder of its own, later ones have it in a plugin. A later one without
# the plugin may stand before it.
use_builder() {
  local each
  for each in $(type -ap docker); do
    "$each" buildx version >/dev/null 2>&1 || [[ $("$each" version --format '{{.Client.Version}}') == 20.* ]] || continue
    [ "$each" = "$(command -v docker)" ] && return
    mkdir -p "$state/docker"
    ln -sf "$each" "$state/docker/docker"
    export PATH="$state/docker:$PATH"
    return
  done
  say 'this Docker has no BuildKit: "apt-get install docker-buildx", or another package of your system.'
  exit "$missing"
}

# The file system of Docker's data, and of this folder where the daemon's is not seen from here.
need_space() { # GiB
  local folder free
  folder=$(docker info --format '{{.DockerRootDir}}')
  [ -d "$folder" ] || folder=$state
  free=$(df --output=avail --block-size=G "$folder" | tail -n 1 | tr -dc 0-9)
  [ "$free" -ge "$1" ] || { say "$folder has $free GiB left and $1 GiB are needed; \"docker system prune\" frees some."; exit 1; }
}

# kind and kubectl of PATH, or else those that the node image was made of.
need_programs() {
  export PATH="$PATH:$programs"
  need kind
  need kubectl
}

build_image() { # arguments of "docker build"
  if docker buildx version >/dev/null 2>&1; then
    docker buildx build --load --quiet "$@"
  else
    DOCKER_BUILDKIT=1 docker build --quiet "$@"
  fi
}

# Whether an image is there, or can be pulled within the minute.
have_image() { docker image inspect "$1" >/dev/null 2>&1 || timeout 60 docker pull --quiet "$1" >/dev/null 2>&1; }

# The overlay that is installed.
overlay=${E2E_OVERLAY:-config/overlays/kind}

need_cluster() {
  [ -s "$KUBECONFIG" ] || { say 'there is no cluster; run hack/kind/up first.'; exit 1; }
}

password_of() { # one password a name, kept beside the kubeconfig
  [ -s "$state/$1.password" ] || (umask 077 && openssl rand -hex 16 >"$state/$1.password")
  cat "$state/$1.password"
}

make_certificate() { # folder, name: an authority and what it has signed for the name, once
  [ ! -s "$1/tls.crt" ] || return 0
  local key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
  (
    umask 077
    mkdir -p "$1"
    openssl req -x509 "${key[@]}" -keyout "$1/ca.key" -out "$1/ca.crt" -days 365 -subj "/CN=authority of $2"
    openssl req -new "${key[@]}" -keyout "$1/tls.key" -out "$1/tls.csr" -subj "/CN=$2"
    openssl x509 -req -in "$1/tls.csr" -CA "$1/ca.crt" -CAkey "$1/ca.key" -CAcreateserial -days 365 -out "$1/tls.crt" \
      -extfile <(echo "subjectAltName=DNS:$2")
  ) 2>"$state/openssl.log" || { say "openssl failed: $(tail -n 3 "$state/openssl.log")"; exit 1; }
}
