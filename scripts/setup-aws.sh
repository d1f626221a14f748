#!/bin/sh
# Installs moto, the AWS emulator of `npm run test:aws`, once, into the user's cache. The versions of providers/aws/test/moto/moto-requirements.txt come
# from PyPI. Without access to PyPI it uses the moto package of Debian trixie with the libraries of this Debian.
#
#   HERALD_MOTO=pypi|debian scripts/setup-aws.sh   uses only this source
set -eu

here=$(cd "$(dirname "$0")" && pwd)
requirements=$here/../providers/aws/test/moto/moto-requirements.txt
cache=${XDG_CACHE_HOME:-$HOME/.cache}/herald
version=$(sed -n 's/^moto==//p' "$requirements")
# providers/aws/test/moto/moto.ts looks in these two directories, in this order.
from_pypi=$cache/moto-$version
debian_version=5.1.1
from_debian=$cache/moto-$debian_version-debian
deb=pool/main/p/python-moto/python3-moto_$debian_version-4_all.deb
deb_sha256=8a231ec9c330cd2cf40fde0d0ebe1d3c10698cfba718cee8a2ad7e983c4e7574
# moto's server imports flask-cors, but the package does not depend on it.
libraries='python3-boto3 python3-botocore python3-cryptography python3-dateutil python3-flask python3-flask-cors python3-jinja2 python3-requests python3-responses python3-werkzeug python3-xmltodict python3-yaml'
log=$cache/moto.log
source=${HERALD_MOTO:-any}

say() { printf 'setup: %s\n' "$*"; }
. "$here/progress.sh"
trap stop_progress EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  [ ! -s "$log" ] || tail -n 25 "$log" >&2
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  case $source in any | pypi | debian) ;; *) fail "HERALD_MOTO is $source; allowed are pypi and debian" ;; esac
  mkdir -p "$cache"
  # Concurrent builds would use the same directory. The kernel releases the lock when this shell ends.
  exec 6>"$cache/moto.lock"
  flock 6
  : >"$log"
  if [ "$source" != debian ]; then
    [ ! -x "$from_pypi/bin/moto-python" ] || return 0
    # A machine with moto from Debian had no access to PyPI, so PyPI is not tried again.
    if [ "$source" = any ] && [ -x "$from_debian/bin/moto-python" ]; then return 0; fi
    if install_from_pypi; then return 0; fi
    [ "$source" = any ] || fail "moto $version could not be installed from PyPI; see $log"
    say "moto $version could not be installed from PyPI; using $debian_version from Debian"
  fi
  [ -x "$from_debian/bin/moto-python" ] || install_from_debian
}

# The scripts of a virtual environment contain its path, so it is made in its final place. Its last file shows that it is complete.
install_from_pypi() {
  say "installing moto $version from PyPI, once, into $from_pypi"
  start_progress "installing moto $version" "$log"
  rm -rf "$from_pypi"
  python=$(python_with_venv) || return 1
  "$python" -m venv "$from_pypi" >>"$log" 2>&1 6>&- || return 1
  "$from_pypi/bin/python" -m pip install --disable-pip-version-check --no-deps --only-binary :all: -r "$requirements" >>"$log" 2>&1 6>&- || return 1
  # A mirror may deliver packages that do not run here.
  "$from_pypi/bin/python" -c 'import moto.server, moto.ec2, moto.elb, moto.elbv2, moto.acm, moto.iam, moto.sts' >>"$log" 2>&1 6>&- || return 1
  write_python "$from_pypi" "$from_pypi/bin/python"
}

# Prints a Python that has venv. Debian has venv in a separate package.
python_with_venv() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 10))' >>"$log" 2>&1; then
      echo "$python"
      return 0
    fi
  done
  echo 'no Python 3.10 or later with venv: apt-get install python3-venv' >>"$log"
  return 1
}

# Unpacks the package instead of installing it, because it belongs to another Debian release.
install_from_debian() {
  command -v apt-get >/dev/null 2>&1 || fail "PyPI cannot be reached, and there is no apt-get; see $log"
  [ "$(id -u)" -eq 0 ] || dpkg -s $libraries >/dev/null 2>&1 || fail "this needs root: apt-get install $libraries"
  say "installing moto $debian_version from Debian, once, into $from_debian"
  start_progress "installing moto $debian_version" "$log"
  if ! dpkg -s $libraries >/dev/null 2>&1; then
    apt_install || { apt_get update && apt_install; } || fail "apt-get install of $libraries failed"
  fi
  building=$from_debian.building
  rm -rf "$building" "$from_debian"
  mkdir -p "$building/bin"
  mirror=${HERALD_DEBIAN_MIRROR:-$(mirror_of_apt)} || fail 'apt has no Debian mirror: set HERALD_DEBIAN_MIRROR'
  fetch "${mirror%/}/$deb" "$building/moto.deb" || fail "$deb could not be downloaded from $mirror"
  echo "$deb_sha256  $building/moto.deb" | sha256sum --check --quiet >>"$log" 2>&1 || fail "$deb from $mirror has a wrong checksum"
  dpkg-deb -x "$building/moto.deb" "$building" >>"$log" 2>&1 6>&- || fail "dpkg-deb could not unpack $deb"
  rm "$building/moto.deb"
  mv "$building" "$from_debian"
  write_python "$from_debian" /usr/bin/python3
}

# Writes a Python command that has moto; it runs providers/aws/test/moto/moto-server.py. Written last, so it exists only when everything is installed.
write_python() {
  cat >"$1/bin/moto-python.new" <<END
#!/bin/sh
PYTHONPATH='$1/usr/lib/python3/dist-packages' exec '$2' "\$@"
END
  chmod 0755 "$1/bin/moto-python.new"
  mv "$1/bin/moto-python.new" "$1/bin/moto-python"
  stop_progress
  say "moto is ready: $1/bin/moto-python -m moto.server"
}

apt_install() {
  # The names are split into arguments on purpose.
  # shellcheck disable=SC2086
  apt_get install -y --no-install-recommends $libraries
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null 6>&-; }

# apt's own client uses apt's proxies.
fetch() {
  /usr/lib/apt/apt-helper download-file "$1" "$2" "SHA256:$deb_sha256" >>"$log" 2>&1 6>&-
}

mirror_of_apt() {
  apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian [a-z]* //p' | head -n 1 | grep .
}

main
