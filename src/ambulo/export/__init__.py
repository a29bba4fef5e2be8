"""What leaves ambulo: web pages, videos, pictures."""
