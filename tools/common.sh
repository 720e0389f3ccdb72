# What the scripts of this directory have in common: `. tools/common.sh`.

# Says what comes next, and how long it has taken so far.
step() { printf '\n== %s (after %d min %02d s)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# Installs Debian's packages that are missing, or asks for them.
need() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
    done
    [ ${#missing[@]} != 0 ] || return 0
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        echo "-- installing ${missing[*]}"
        apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
    else
        echo "please install Debian's packages ${missing[*]}, and try again" >&2
        exit 1
    fi
}
