"""Writes mfcc.json: the MFCC of a few frames of a made-up clip, by sums that follow the definitions of TensorFlow's
AudioSpectrogram (window 480, stride 160) and Mfcc (40 coefficients of 40 channels, 20 to 4000 Hz). Only the standard
library is used: python3 mfcc.py > mfcc.json"""
import json
import math

RATE, WINDOW, HOP, POINTS, CHANNELS, LOW, HIGH = 16000, 480, 160, 512, 40, 20.0, 4000.0
FRAMES = [0, 1, 13, 49, 75, 97]


def clip():
    """Noise of a linear congruential generator over two square waves; the last quarter is missing."""
    state, samples = 12345, []
    for n in range(12000):
        state = (1103515245 * state + 12345) % 2**31
        noise = (state >> 16) % 2001 - 1000
        samples.append(noise + (6000 if n // 20 % 2 else -6000) + (2000 if n // (3 + n // 1000) % 2 else -2000))
    return samples + [0] * 4000


def mel(hertz):
    return 1127.0 * math.log(1.0 + hertz / 700.0)


def triangle(channel, hertz):
    """The weight of a frequency in a channel: 1 at its centre, 0 at its neighbours'."""
    step = (mel(HIGH) - mel(LOW)) / (CHANNELS + 1)
    centre = mel(LOW) + step * (channel + 1)
    return max(0.0, 1.0 - abs(mel(hertz) - centre) / step)


def coefficients(samples):
    windowed = [s / 32768 * (0.5 - 0.5 * math.cos(2 * math.pi * i / WINDOW)) for i, s in enumerate(samples)]
    bands = [0.0] * CHANNELS
    for k in range(1, POINTS // 2 + 1):
        hertz = k * RATE / POINTS
        if hertz < LOW or hertz > HIGH:
            continue
        real = sum(x * math.cos(2 * math.pi * k * i / POINTS) for i, x in enumerate(windowed))
        imaginary = sum(x * math.sin(2 * math.pi * k * i / POINTS) for i, x in enumerate(windowed))
        for channel in range(CHANNELS):
            bands[channel] += math.sqrt(real**2 + imaginary**2) * triangle(channel, hertz)
    logs = [math.log(max(b, 1e-12)) for b in bands]
    return [math.sqrt(2 / CHANNELS) * sum(x * math.cos(math.pi / CHANNELS * i * (j + 0.5)) for j, x in enumerate(logs))
            for i in range(CHANNELS)]


samples = clip()
print(json.dumps({str(t): [round(c, 7) for c in coefficients(samples[t * HOP:t * HOP + WINDOW])] for t in FRAMES},
                 indent=None, separators=(",\n", ":")))
