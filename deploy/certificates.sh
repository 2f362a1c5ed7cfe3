#!/usr/bin/env bash
# Makes a certificate authority of your own, and a certificate and a key for scheduler, workers and client.
# Whoever has a key that this authority signed can run anything on the cluster: keep the keys to yourself.
set -euo pipefail

usage() {
    cat <<'END'
certificates.sh [--force | --renew] [--days DAYS] [--each] FOLDER HOST...

Makes in FOLDER: ca.pem and ca.key, and a .pem and a .key each for scheduler, worker and client.
HOST is a name or an address at which the scheduler (of Ray: any node) is reached; give all of them.

  --days DAYS  how long the certificates are valid; 365 unless given. The authority is valid for ten years.
  --each       also make FOLDER/HOST with a worker.pem and worker.key of its own for each host
  --renew      keep ca.pem and ca.key, replace the rest: for a new host, or before the certificates end
  --force      replace all; what was copied to other machines is refused from then on
END
}

fail() {
    printf 'certificates.sh: %s\n' "$1" >&2
    exit 2
}

days=365
force=no
renew=no
each=no
while [ $# -gt 0 ]; do
    case $1 in
    --days)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail "--days needs a number of days, found: ${2:-nothing}"
        days=$2
        shift 2
        ;;
    --force) force=yes && shift ;;
    --renew) renew=yes && shift ;;
    --each) each=yes && shift ;;
    -h | --help) usage && exit ;;
    --) shift && break ;;
    -*) fail "no such option: $1; see --help" ;;
    *) break ;;
    esac
done
[ $# -ge 2 ] || { usage >&2 && exit 2; }
[ "$force$renew" != yesyes ] || fail "--force makes a new authority, --renew keeps the old one: give one"
folder=$1
shift

# names_of HOST...
names_of() {
    # Names that every machine has for itself: nodes of Ray also call themselves by them.
    names=DNS:localhost,IP:127.0.0.1
    for host in "$@"; do
        if [[ $host =~ ^[0-9]+(\.[0-9]+){3}$ || $host =~ ^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*$ ]]; then
            names+=,IP:$host
        elif [[ $host =~ ^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$ ]]; then
            names+=,DNS:$host
        else
            fail "neither a name nor an address of a host: $host (give it without port and without tls://)"
        fi
    done
}

names_of "$@"
made=(scheduler.pem scheduler.key worker.pem worker.key client.pem client.key)
if [ $each = yes ]; then
    for host in "$@"; do
        [[ $host != \** ]] || fail "--each needs hosts one by one, found: $host"
        made+=("$host/worker.pem" "$host/worker.key")
    done
fi
if [ $renew = yes ]; then
    for file in ca.pem ca.key; do
        [ -f "$folder/$file" ] || fail "--renew needs ca.pem and ca.key in $folder"
    done
else
    made+=(ca.pem ca.key)
    if [ $force = no ]; then
        for file in "${made[@]}"; do
            [ ! -e "$folder/$file" ] || fail "$folder/$file is there: choose --renew or --force, see --help"
        done
    fi
fi

umask 077
mkdir -p -- "$folder"
folder=$(cd -- "$folder" && pwd)
# All is made aside and then moved: whoever stops this halfway keeps what was there.
aside=$(mktemp -d -- "$folder/.making.XXXXXX")
trap 'rm -rf -- "$aside"' EXIT

quietly() {
    openssl "$@" 2>"$aside/said" && return
    cat -- "$aside/said" >&2
    fail "openssl could not make the certificates"
}

new_key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256)

if [ $renew = yes ]; then
    authority=$folder
else
    authority=$aside
    # A file of its own, as the system's openssl.cnf differs between distributions.
    printf '%s\n' '[req]' 'distinguished_name = name' 'prompt = no' 'x509_extensions = authority' \
        '[name]' 'CN = Shortloop cluster' '[authority]' 'basicConstraints = critical, CA:TRUE, pathlen:0' \
        'keyUsage = critical, keyCertSign, cRLSign' 'subjectKeyIdentifier = hash' >"$aside/ca.cnf"
    quietly req -x509 "${new_key[@]}" -days 3650 -config "$aside/ca.cnf" \
        -keyout "$aside/ca.key" -out "$aside/ca.pem"
fi

# certificate ROLE USAGE: ROLE may have the folder of a host before it
certificate() {
    printf '%s\n' '[req]' 'distinguished_name = name' 'prompt = no' '[name]' "CN = ${1##*/}" '[signed]' \
        'basicConstraints = critical, CA:FALSE' 'keyUsage = critical, digitalSignature' \
        "extendedKeyUsage = $2" 'subjectKeyIdentifier = hash' 'authorityKeyIdentifier = keyid' \
        "subjectAltName = $names" >"$aside/$1.cnf"
    quietly req -new "${new_key[@]}" -config "$aside/$1.cnf" -keyout "$aside/$1.key" -out "$aside/$1.csr"
    quietly x509 -req -sha256 -days "$days" -set_serial "0x$(openssl rand -hex 16)" \
        -CA "$authority/ca.pem" -CAkey "$authority/ca.key" -extfile "$aside/$1.cnf" -extensions signed \
        -in "$aside/$1.csr" -out "$aside/$1.pem"
}

# Scheduler and workers call each other. Nobody calls a client: its certificate cannot pose as a scheduler.
certificate scheduler serverAuth,clientAuth
certificate worker serverAuth,clientAuth
certificate client clientAuth
if [ $each = yes ]; then
    for host in "$@"; do
        names_of "$host"
        mkdir -p -- "$aside/$host" "$folder/$host"
        certificate "$host/worker" serverAuth,clientAuth
    done
    names_of "$@"
fi

for file in "${made[@]}"; do
    case $file in *.key) mode=600 ;; *) mode=644 ;; esac
    chmod "$mode" -- "$aside/$file"
    mv -f -- "$aside/$file" "$folder/$file"
done

if [ $each = yes ]; then
    for host in "$@"; do cp -- "$folder/ca.pem" "$folder/$host/ca.pem"; done
fi

cat <<END
Made in $folder, valid for $days days, for ${names//,/, }.

Copy, so that only the user who runs them can read the keys (mode 0600):
  to the scheduler           ca.pem  scheduler.pem  scheduler.key
  to each worker             ca.pem  worker.pem     worker.key
  to where you start a run   ca.pem  client.pem     client.key
  to each node of Ray        ca.pem  worker.pem     worker.key    (all nodes call each other)
With --each, what is in FOLDER/HOST goes to that host, and no worker has the key of another.
Keep ca.key off the cluster: who has it can make certificates. Never commit a .key file.
END
