#!/bin/sh
# A stand-in for nvidia-smi. Its state is the folder: cards has a line for each card (index|uuid|memory.total|memory.used|
# mig.mode.current|name), list what -L prints, apps/PID a line with the card and the MiB for each card that a live process
# uses, unknown the fields that the driver does not know. With the file fail it fails with the exit code in it, with hang it never ends. It starts
# no other program, so that it is quick.
state='STATE'
[ ! -e "$state/hang" ] || exec sleep 600
if [ -e "$state/fail" ]; then
	read -r code <"$state/fail"
	echo "Unable to determine the device handle for GPU: Unknown Error"
	exit "$code"
fi
what=
for word; do
	case $word in
	-L) exec cat "$state/list" ;;
	--query-gpu=*) what=cards fields=${word#*=} ;;
	--query-compute-apps=*) what=apps fields=${word#*=} ;;
	esac
done
if [ -e "$state/unknown" ]; then
	while read -r field; do
		case ,$fields, in *,"$field",*)
			echo "Field \"$field\" is not a valid field to query."
			exit 2
			;;
		esac
	done <"$state/unknown"
fi
print() {
	row=
	IFS=,
	for field in $fields; do
		case $field in
		index) value=$index ;;
		uuid) value=$uuid ;;
		memory.total) value=$total ;;
		memory.used) value=$used ;;
		mig.mode.current) value=$mig ;;
		name) value=$name ;;
		gpu_uuid) value=$card ;;
		pid) value=$pid ;;
		used_memory) value=$mib ;;
		esac
		row="$row${row:+, }$value"
	done
	unset IFS
	echo "$row"
}
processes=
for file in "$state"/apps/*; do
	pid=${file##*/}
	if [ -e "$file" ] && kill -0 "$pid" 2>/dev/null; then
		while read -r card mib _; do
			processes="$processes $card=$mib"
			[ "$what" != apps ] || print
		done <"$file"
	elif [ -e "$file" ]; then
		rm -f "$file"
	fi
done
[ "$what" = cards ] || exit 0
while IFS='|' read -r index uuid total used mig name; do
	unset IFS
	for process in $processes; do
		[ "${process%=*}" != "$uuid" ] || used=$((used + ${process#*=}))
	done
	print
done <"$state/cards"
