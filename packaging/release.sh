#!/usr/bin/env bash
# Builds the files of a release into target/packages: of one binary an archive, a Debian package, a container image, and a
# Homebrew formula; the bill of materials; and checksums. What a missing tool leaves out is listed at the end.
#
#   packaging/release.sh                      for the static musl target, if it is installed, else for this machine's
#   packaging/release.sh --target TRIPLE      for this target; this machine must be able to run its programs
#   packaging/release.sh --binary FILE        of a binary that is built already, as the tests do
#   packaging/release.sh --output FOLDER      elsewhere
#   packaging/release.sh --complete           fails if anything is left out
#
# The same binary gives the same archive and package: times are that of the commit, or SOURCE_DATE_EPOCH.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

fail() {
    echo "release: $*" >&2
    exit 1
}

usage() {
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
    exit "$1"
}

target='' binary='' output=$root/target/packages complete=''
while (($#)); do
    case $1 in
    --complete)
        complete=yes
        shift
        ;;
    --target | --binary | --output)
        (($# > 1)) || usage 2
        declare "${1#--}=$2"
        shift 2
        ;;
    -h | --help) usage 0 ;;
    *) usage 2 ;;
    esac
done

host=$(rustc -vV | sed -n 's/^host: //p')
# A static binary runs on every distribution. Its C parts need musl's compiler.
static=${host/-gnu/-musl}
musl_lacks() {
    command -v musl-gcc >/dev/null || echo "musl-gcc (apt-get install musl-tools)"
    [[ -d $(rustc --print sysroot)/lib/rustlib/$static ]] || echo "Rust's library for it (rustup target add $static)"
}
if [[ -z $target && -n $binary ]]; then
    target=$host
elif [[ -z $target ]]; then
    lacks=$(musl_lacks | paste -sd, | sed 's/,/, /g')
    target=$static
    if [[ -n $lacks ]]; then
        target=$host
        echo "Not static: $static lacks $lacks." >&2
    fi
fi

if [[ -z $binary ]]; then
    (cd "$root" && cargo build --profile dist --locked --target "$target" --package laggard --bin laggard)
    binary=${CARGO_TARGET_DIR:-$root/target}/$target/dist/laggard
    if [[ $target == *-musl && $(readelf --program-headers --wide "$binary") == *INTERP* ]]; then
        fail "$binary needs a dynamic loader, so it is not static"
    fi
fi
[[ -x $binary ]] || fail "$binary is not a program"
version=$("$binary" --version | sed -n 's/^laggard //p')
[[ -n $version ]] || fail "$binary does not print Laggard's version"
case ${target%%-*} in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) fail "no name of Debian's for the processor of $target" ;;
esac
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
umask 022
mkdir -p "$output"
output=$(cd "$output" && pwd)

# What the binary prints about itself is made once, for both packages.
generated=$staging/generated
mkdir -p "$generated"
"$binary" man -o "$generated/man"
for shell in bash zsh fish; do
    "$binary" completions $shell >"$generated/laggard.$shell"
done

install_file() { # MODE FROM TO
    install -D -m "$1" "$2" "$3"
}

# The configurations of other programs, as examples.
install_examples() { # FOLDER
    local file
    for file in collector prometheus grafana kubernetes; do
        mkdir -p "$1/$file"
        install -m 644 "$root/packaging/$file"/* "$1/$file"
    done
}

archive() {
    local name=laggard-$version-$target tree
    tree=$staging/$name
    install_file 755 "$binary" "$tree/laggard"
    mkdir "$tree/man"
    install -m 644 "$generated"/man/* "$tree/man"
    for shell in bash zsh fish; do
        install_file 644 "$generated/laggard.$shell" "$tree/completions/laggard.$shell"
    done
    install -m 644 "$root"/{LICENSE,README.md,CHANGELOG.md} "$tree"
    install_file 644 "$root/packaging/laggard.yaml" "$tree/laggard.yaml"
    mkdir "$tree/systemd"
    install -m 644 "$root"/packaging/systemd/* "$tree/systemd"
    install_examples "$tree/examples"
    tar --directory "$staging" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --create "$name" | gzip -n >"$output/$name.tar.gz"
    files+=("$name.tar.gz")
}

# The C library that a binary needs at least; nothing if it is static.
libc_needed() {
    grep -aoE 'GLIBC_2\.[0-9]+' "$binary" | sed 's/^GLIBC_//' | sort -uV | tail -1
}

debian_package() {
    command -v dpkg-deb >/dev/null || fail "there is no dpkg-deb (apt-get install dpkg)"
    local tree=$staging/debian documents libc depends=''
    documents=$tree/usr/share/doc/laggard
    install_file 755 "$binary" "$tree/usr/bin/laggard"
    mkdir -p "$tree/usr/share/man/man1"
    install -m 644 "$generated"/man/* "$tree/usr/share/man/man1"
    install_file 644 "$generated/laggard.bash" "$tree/usr/share/bash-completion/completions/laggard"
    install_file 644 "$generated/laggard.zsh" "$tree/usr/share/zsh/vendor-completions/_laggard"
    install_file 644 "$generated/laggard.fish" "$tree/usr/share/fish/vendor_completions.d/laggard.fish"
    install_file 644 "$root/packaging/systemd/laggard.service" "$tree/usr/lib/systemd/system/laggard.service"
    install_file 644 "$root/packaging/systemd/laggard-agent.service" "$tree/usr/lib/systemd/system/laggard-agent.service"
    install_file 644 "$root/packaging/laggard.yaml" "$tree/etc/laggard/laggard.yaml"
    install_file 644 "$root/packaging/debian/copyright" "$documents/copyright"
    install_file 644 "$root/CHANGELOG.md" "$documents/changelog"
    gzip -n -9 "$tree"/usr/share/man/man1/* "$documents/changelog"
    install_examples "$documents/examples"

    libc=$(libc_needed || true)
    [[ -z $libc ]] || depends="Depends: libc6 (>= $libc), libgcc-s1"
    mkdir "$tree/DEBIAN"
    install -m 755 "$root"/packaging/debian/{postinst,prerm,postrm} "$tree/DEBIAN"
    echo /etc/laggard/laggard.yaml >"$tree/DEBIAN/conffiles"
    (cd "$tree" && find usr etc -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
    sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@REPOSITORY@|$repository|" \
        -e "s|@SIZE@|$(du -k --apparent-size -s "$tree" | cut -f1)|" -e "s|^@DEPENDS@$|$depends|" \
        "$root/packaging/debian/control" | sed '/^$/d' >"$tree/DEBIAN/control"
    # Times of files are those of the commit, which dpkg-deb only limits.
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    local name=laggard_${version}_$architecture.deb
    dpkg-deb --root-owner-group -Zxz -z1 --build "$tree" "$output/$name" >/dev/null
    files+=("$name")
}

formula() {
    if [[ $target != *-musl ]]; then
        left_out+=("laggard.rb: its program must be static")
        return
    fi
    local sum
    sum=$(cd "$output" && sha256sum "laggard-$version-$target.tar.gz" | cut -d' ' -f1)
    sed -e 1d -e "s|@VERSION@|$version|g" -e "s|@TARGET@|$target|" -e "s|@REPOSITORY@|$repository|" -e "s|@SHA256@|$sum|" \
        -e "s|@BREW_ARCHITECTURE@|${architecture/amd64/x86_64}|" "$root/packaging/homebrew/laggard.rb" >"$output/laggard.rb"
    files+=(laggard.rb)
}

# An image of the last stage of the Containerfile, on nothing. It runs no command, so that it needs no privileges.
image() {
    local name=laggard-$version-image-$architecture.tar context=$staging/image
    if [[ $target != *-musl ]]; then
        left_out+=("$name: its program must be static")
        return
    elif ! command -v buildah >/dev/null; then
        left_out+=("$name: there is no buildah (apt-get install buildah)")
        return
    fi
    install_file 755 "$binary" "$context/laggard"
    mkdir "$context/data"
    sed -n '/^FROM gcr/,$p' "$root/packaging/container/Containerfile" |
        sed -e 's|^FROM .*|FROM scratch|' -e 's|--from=build \(.*\)/empty/data|\1data|' \
            -e 's|--from=build [^ ]*/laggard|laggard|' >"$context/Containerfile"
    buildah() {
        command buildah --storage-driver vfs --root "$staging/images" --runroot "$staging/run" "$@"
    }
    # The format of Docker has the health check, that of OCI has none.
    buildah build --quiet --isolation chroot --format docker --timestamp "$SOURCE_DATE_EPOCH" --arch "$architecture" \
        --tag "laggard:$version" "$context" >/dev/null
    rm -f "$output/$name"
    buildah push --quiet "laggard:$version" "docker-archive:$output/$name:laggard:$version"
    files+=("$name")
}

# Every crate of the program. The tool writes beside each manifest, so it works on a copy.
bill_of_materials() {
    local name=laggard-$version.cdx.json source=$staging/source
    if ! cargo cyclonedx --version >/dev/null 2>&1; then
        left_out+=("$name: there is no cargo-cyclonedx (cargo install --locked cargo-cyclonedx@0.5.9)")
        return
    fi
    mkdir "$source"
    (cd "$root" && git ls-files -z | tar --null --files-from=- --create) | tar --extract --directory "$source"
    (cd "$source" && cargo cyclonedx --quiet --all --format json --spec-version 1.5 --target "$target" --manifest-path crates/app/cli/Cargo.toml)
    # There is no other JSON beside the program's manifest. Ids of its own crates are their folders.
    sed "s|$source|/laggard|g" "$source"/crates/app/cli/*.json >"$output/$name"
    files+=("$name")
}

repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' "$root/Cargo.toml")
[[ -n $repository ]] || fail "Cargo.toml names no repository"
files=() left_out=()
archive
debian_package
formula
image
bill_of_materials
(cd "$output" && sha256sum "${files[@]}" >SHA256SUMS && cat SHA256SUMS)
((${#left_out[@]} == 0)) && exit
printf 'Left out: %s\n' "${left_out[@]}" >&2
[[ -z $complete ]]
